import { type Names, optionsIn } from "../argument.ts";
import { Checks } from "../checks.ts";
import type { Sync } from "../contract.ts";
import { AccessError } from "../errors.ts";
import { finalizers } from "../life/finalizers.ts";
import { NativeObject } from "../life/native_object.ts";
import { Resource } from "../life/resource.ts";
import { type Undo, undoAll, undone } from "../life/undo.ts";
import { closeFd, duplicateFd, kindOfFile, statusOf, whereOpen } from "../native/fd.ts";
import { syncFileIn } from "../native/sync_file.ts";
import type { Fence } from "./fence.ts";
import { Port, type SyncKind } from "./port.ts";
import { type CommandOptions, DeviceQueue, type Movable } from "./queue.ts";
import type { Usable } from "./line.ts";

/**
 * What other code's semaphore is: binary, each signal of which is for one wait; a timeline, whose value only grows; or a
 * sync file, which is one signal for one wait.
 */
export type ForeignSemaphoreKind = "binary" | "timeline" | "sync-fd";

/** Options of `importSemaphore`, in every API. */
export interface ImportSemaphoreOptions {
  /** What its maker made it as, which no driver checks; `"binary"` by default. */
  readonly kind?: ForeignSemaphoreKind;
}

/** A semaphore, and a value of it if it is a timeline. */
export interface SemaphorePoint {
  /** The semaphore. */
  readonly semaphore: ForeignSemaphore;
  /** The value that is signalled or waited for, of 64 bits; left out unless it is a timeline. */
  readonly value?: bigint | undefined;
}

/** What a semaphore of other code's is made of. */
export interface ForeignSemaphoreInit {
  /** What it is. */
  readonly kind: ForeignSemaphoreKind;
  /** Its name, for messages. */
  readonly name: string;
  /** Its context's own queue. */
  readonly queue: AnySemaphoreQueue;
  /** The driver's object; undefined for a sync file whose signal has come. */
  readonly imported: unknown;
  /** The driver's commands with it. */
  readonly sync: SemaphoreCalls;
  /** Releases it. */
  readonly undo: Undo;
}

/** A driver's commands with several semaphores. */
export type SemaphoreCalls = Required<Pick<Sync, "waiting" | "signal">>;

/** A queue of any API that takes part. */
// deno-lint-ignore no-explicit-any -- its memory is any
export type AnySemaphoreQueue = SemaphoreQueue<any, any, any, any>;

const OPTIONS: Names<ImportSemaphoreOptions> = { kind: true };
const POINT: Names<SemaphorePoint> = { semaphore: true, value: true };
const PORTS: { readonly [K in ForeignSemaphoreKind]: SyncKind } = {
  "binary": "binary-fd",
  "timeline": "timeline-fd",
  "sync-fd": "sync-fd",
};
const MOST = 2n ** 64n - 1n;

/**
 * A semaphore that other code made, and that both sides signal and wait for. What the other code submits only that code
 * knows: so samepage checks neither that a wait has a signal nor that a signal has a wait.
 */
export abstract class ForeignSemaphore extends NativeObject {
  /** Its context. */
  abstract readonly context: { readonly name: string };
  /** What it is. */
  readonly kind: ForeignSemaphoreKind;
  /** Its end of life, which waits for samepage's commands with it. */
  readonly resource: Resource;
  /** The driver's object; undefined for a sync file whose signal has come. */
  protected readonly imported: unknown;
  readonly #queue: AnySemaphoreQueue;
  readonly #sync: SemaphoreCalls;
  /** A timeline's value at our newest signal. */
  #value = 0n;
  #signalled: Fence | undefined;
  #isSpent = false;

  /** Made by contexts. */
  constructor({ kind, name, queue, imported, sync, undo }: ForeignSemaphoreInit, owner: Resource) {
    super();
    this.kind = kind;
    this.imported = imported;
    this.#queue = queue;
    this.#sync = sync;
    this.resource = new Resource({ name, owners: [owner], undo: [() => undoAll(undo, "releasing a semaphore")] });
    finalizers.register(this, this.resource, this);
  }

  /**
   * The later commands of the context's own queue wait on the device: for the next signal, or for a timeline until it has
   * the value. For other queues, and for several semaphores in one native call, there is `queue.waitSemaphores()`.
   *
   * The other code has to signal: a wait without a signal never ends, and neither does what blocks behind it.
   *
   * @returns the fence of the wait
   * @throws {ArgumentError} for a timeline without a value, and for a value of any other.
   * @throws {AccessError} for a second wait for a sync file.
   * @throws {NativeCallError} if the driver refuses.
   */
  wait(value?: bigint): Fence {
    return this.#queue.waitSemaphores([{ semaphore: this, value }]);
  }

  /**
   * Submits a signal behind all commands of the context's own queue so far. The other code must have submitted its wait for
   * the last one; for a timeline, it signals no value that is as great.
   *
   * @returns the fence of the signal
   * @throws {ArgumentError} for a sync file; for a timeline's value that is not greater than that of the last signal here;
   * and like {@link wait}.
   * @throws {NativeCallError} if the driver refuses.
   */
  signal(value?: bigint): Fence {
    return this.#queue.signalSemaphores([{ semaphore: this, value }]);
  }

  /** Waits for semaphores, or signals them, by one native call. For backends. */
  static submit(
    queue: AnySemaphoreQueue,
    to: "wait" | "signal",
    given: readonly (ForeignSemaphore | SemaphorePoint)[],
    after: readonly Fence[],
  ): Fence {
    const { line } = queue;
    const checks = new Checks(line.driver.api);
    line.resource.assertLive();
    const points = pointsIn(given, checks);
    for (const { semaphore, value } of points) semaphore.#assertPoint(queue, to, value, checks);
    // Anything but a timeline is used as memory is written: two of our waits at once could take each other's signals.
    const once = points.filter(({ semaphore }) => semaphore.kind !== "timeline");
    const uses = once.map(({ semaphore }) => ({ tensor: semaphore, access: "write", argument: "semaphores" } as const));
    const last = to === "wait" ? [] : points.map(({ semaphore }) => semaphore.#signalled);
    const behind = [...after, ...last.filter((fence) => fence !== undefined)];
    const native = points.filter(({ semaphore }) => semaphore.imported !== undefined);
    const [first] = native;
    if (first === undefined) return line.waitFor(behind);
    const imports = native.map(({ semaphore }) => semaphore.imported);
    const values = native.map(({ value = 1n }) => value);
    const sync = first.semaphore.#sync;
    const before = line.submitted;
    try {
      line.submit(
        uses,
        to === "wait" ? sync.waiting(imports, values, true) : sync.signal(imports, values, true),
        behind,
      );
    } finally {
      if (line.submitted > before) { // also a signal that could not be flushed
        for (const { semaphore, value } of points) semaphore.#submitted(to, value, line.fence());
      }
    }
    return line.fence();
  }

  /** Throws where a queue of its context cannot use it. */
  protected assertOn(_queue: AnySemaphoreQueue): void {}

  #assertPoint(queue: AnySemaphoreQueue, to: "wait" | "signal", value: bigint | undefined, checks: Checks): void {
    this.resource.assertLive();
    checks.assertHere(this.context, queue.context as unknown as typeof this.context, "semaphores");
    this.assertOn(queue);
    if (this.kind === "timeline") {
      if (typeof value !== "bigint" || value < 0n || value > MOST) {
        throw checks.wrong("value", `a timeline needs a bigint from 0 to 2⁶⁴ - 1, got ${value}.`);
      }
      if (to === "signal" && value <= this.#value) {
        throw checks.wrong("value", `a timeline only grows: expected more than ${this.#value}, got ${value}.`);
      }
    } else if (value !== undefined) {
      throw checks.wrong("value", `only a timeline has values, and this is ${this}.`, "Leave it out.");
    }
    if (this.kind !== "sync-fd") return;
    if (to === "signal") {
      throw checks.wrong("semaphores", "a sync file is only waited for.", "Import a binary semaphore to signal it.");
    }
    if (this.#isSpent) {
      throw new AccessError("the sync file's one signal was waited for already.", {
        api: queue.line.driver.api,
        hint: "Import the fd again for another wait.",
      });
    }
  }

  #submitted(to: "wait" | "signal", value: bigint | undefined, fence: Fence): void {
    this.#isSpent = this.kind === "sync-fd";
    if (this.kind !== "timeline") return;
    this.resource.usedBy(fence);
    if (to === "signal") [this.#value, this.#signalled] = [value!, fence];
  }
}

/** A queue of a device that takes part in other code's semaphores. */
export abstract class SemaphoreQueue<
  L = unknown,
  M extends Movable = never,
  C extends Usable = M,
  F extends Usable = M,
> extends DeviceQueue<L, M, C, F> {
  /**
   * Makes all later commands wait on the device for semaphores of other code's, by one native call. A wait without a signal
   * never ends, and neither does what blocks behind it.
   *
   * @param semaphores of the queue's context, by `importSemaphore` or `attachSemaphore`; a timeline with its value:
   * `{ semaphore, value }`
   * @returns the fence of the wait
   * @throws {ArgumentError} for anything else, one that is listed twice, and an empty list.
   * @throws {AccessError} for a second wait for a sync file.
   * @throws {NativeCallError} if the driver refuses.
   */
  waitSemaphores(semaphores: readonly (ForeignSemaphore | SemaphorePoint)[], options: CommandOptions = {}): Fence {
    return ForeignSemaphore.submit(this, "wait", semaphores, this.after(options));
  }

  /**
   * Signals semaphores of other code's behind all commands so far, by one native call. The other code must have submitted
   * its wait for the last signal of each.
   *
   * @returns the fence of the signals
   * @throws {ArgumentError} like {@link waitSemaphores}; for a sync file; for a timeline's value that is not greater than
   * that of the last signal here.
   * @throws {NativeCallError} if the driver refuses.
   */
  signalSemaphores(semaphores: readonly (ForeignSemaphore | SemaphorePoint)[], options: CommandOptions = {}): Fence {
    return ForeignSemaphore.submit(this, "signal", semaphores, this.after(options));
  }
}

function pointsIn(given: readonly (ForeignSemaphore | SemaphorePoint)[], checks: Checks): readonly SemaphorePoint[] {
  const all = checks.itemsIn(given, "semaphores", "a list of semaphores");
  if (all.length === 0) throw checks.wrong("semaphores", "expected a list of semaphores, got an empty one.");
  const points = all.map((one): SemaphorePoint => {
    const point = one instanceof ForeignSemaphore ? { semaphore: one } : optionsIn(one, POINT, "semaphores");
    if (point.semaphore instanceof ForeignSemaphore) return point;
    throw checks.wrongKind("semaphores", "semaphores of importSemaphore() or attachSemaphore()", point.semaphore);
  });
  if (new Set(points.map(({ semaphore }) => semaphore)).size === points.length) return points;
  throw checks.wrong("semaphores", "one of them is listed twice.");
}

/**
 * Imports a duplicate of a semaphore's fd, as `importSemaphore` does in every API: the fd stays the caller's.
 *
 * @throws {ArgumentError} if the queue's driver imports none of this kind, and for anything but such an fd.
 * @throws {NativeCallError} if the driver refuses it.
 */
export function importedSemaphore(
  queue: AnySemaphoreQueue,
  fd: number,
  options: ImportSemaphoreOptions,
): ForeignSemaphoreInit {
  const { line } = queue;
  const { sync, driver, name } = line;
  const checks = new Checks(driver.api);
  const { kind = "binary" } = optionsIn(options, OPTIONS);
  const port = PORTS[checks.nameIn(kind, PORTS, "kind")];
  line.resource.assertLive();
  if (!sync.takes(port)) {
    throw checks.wrong(
      "kind",
      `${name} imports no ${kind} semaphores by an fd.`,
      "The doctor says what its driver has.",
    );
  }
  const undo: Undo = [];
  const hasCome = kind === "sync-fd" && fd === -1; // so VK_KHR_external_semaphore_fd names one
  const imported = hasCome ? undefined : sync.take(new Port(port, { fd: ownFd(fd, kind, checks) }), undo);
  const calls = driver.lines.sync as SemaphoreCalls;
  return { kind, queue, imported, undo, sync: calls, name: `${driver.api} ${kind} semaphore by an fd (${name})` };
}

/** A duplicate of a semaphore's fd, for the driver to take over. */
function ownFd(fd: number, kind: ForeignSemaphoreKind, checks: Checks): number {
  if (kind === "sync-fd") return syncFileIn(fd, checks);
  const own = whereOpen(checks, "fd", checks.fdIn(fd, "fd"), duplicateFd);
  const is = kindOfFile(statusOf(own).mode);
  if (is !== "a regular file") return own;
  throw undone(
    checks.wrong("fd", `expected the fd of a semaphore, got that of ${is}.`),
    [() => closeFd(own)],
    "importing",
  );
}
