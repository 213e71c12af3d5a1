import type { Call, Driver, Sync } from "../contract.ts";
import type { Port, SyncKind } from "./port.ts";
import { throwAll } from "../errors.ts";
import { ledger } from "../life/ledger.ts";
import { type Undo, undoAll, unwind } from "../life/undo.ts";
import { type DeviceId, isSameDevice } from "./device_id.ts";

const SHARED = "imported semaphore";

/** What a {@link LineSync} needs of a line. */
export interface SyncedLine {
  /** The driver that runs its commands. */
  readonly driver: Driver;
  /** The driver's side of it. */
  readonly lane: unknown;
  /** Its name, for messages. */
  readonly name: string;
  /** Its newest mark. */
  readonly submitted: number;
  /** How it waits for lines of other drivers. */
  readonly sync: LineSync;
  /** Submits a command without tensors. */
  submitRaw(call: Call): { readonly mark: number };
  /** True if a mark is over. */
  isOver(mark: number): boolean;
  /** The same as far as is known. */
  wasOver(mark: number): boolean;
  /** True if its next command waits on the device for a mark of another line. */
  isBehind(other: SyncedLine, mark: number): boolean;
  /** Its next command does, by what the caller has made the driver do. */
  standBehind(other: SyncedLine, mark: number): void;
}

/** An import that no command after the one at `mark` uses. The driver keeps it until that is over. */
interface Last {
  readonly mark: number;
  readonly release: () => void;
  /** True if no earlier command uses it either. */
  readonly isOnce: boolean;
}

interface Shared {
  readonly kind: SyncKind;
  readonly signals: unknown;
  readonly waits: unknown;
  value: bigint;
  /** The command of the waiting line that stands behind the newest signal. */
  waited: number;
}

/**
 * How one line waits for lines of other drivers without the host: by an exported sync file or timeline of theirs, or by a
 * semaphore that a third driver made for both.
 */
export class LineSync {
  readonly #line: SyncedLine;
  readonly #sync: Sync | undefined;
  readonly #timelines = new Map<SyncedLine, unknown>();
  #last: readonly Last[] = [];
  /** The semaphores that another line signals and this one waits for. */
  readonly #incoming = new Map<SyncedLine, Shared[]>();
  /** The lines of its own driver that it waits for, and the newest command that does, where the driver needs them kept. */
  readonly #beside = new Map<SyncedLine, number>();
  /** The lines that wait for this one by semaphores, by its timeline, or beside it. */
  readonly #outgoing = new Set<LineSync>();

  /** Imports nothing yet. */
  constructor(line: SyncedLine) {
    this.#line = line;
    this.#sync = line.driver.lines.sync;
  }

  /** Can the next command wait for the other line? No gate may stand in front of it: its signal might never come. */
  reaches(other: SyncedLine): boolean {
    return this.#exportedBy(other) !== undefined || this.#makerFor(other) !== undefined;
  }

  /** The next command waits for a mark of another line. Returns the mark that it stands behind; undefined if it cannot wait. */
  waitFor(other: SyncedLine, mark: number): number | undefined {
    const kind = this.#exportedBy(other);
    if (kind !== undefined) return this.#waitForPort(other, mark, kind);
    return this.#makerFor(other) === undefined ? undefined : this.#waitForSignal(other);
  }

  /** The next command waits on the device for a line of its own driver, which may be closed before it is over. */
  waitBeside(other: SyncedLine): void {
    if (other.driver.lines.keep === undefined) return;
    this.#beside.set(other, this.#line.submitted + 1);
    other.sync.#outgoing.add(this);
  }

  /** Why the next command cannot wait for the other line, where it cannot. */
  whyNot(other: SyncedLine): string {
    const { name, lane } = this.#line;
    const [own, theirs] = [this.#sync, other.driver.lines.sync];
    const apart = own === undefined ? name : theirs === undefined ? other.name : undefined;
    if (own === undefined || theirs === undefined) return `${apart} has no semaphores and no fences for other drivers`;
    for (const kind of theirs.exports.filter((kind) => own.imports.includes(kind))) {
      const refusal = own.refuses?.(lane, kind, other.lane);
      if (refusal !== undefined) return refusal;
    }
    const shared = own.imports.find((kind) => theirs.signal !== undefined && theirs.imports.includes(kind));
    if (shared === undefined) return `${name} and ${other.name} have no kind of semaphore or fence in common`;
    return `${name} and ${other.name} both import ${shared}, and no open context on their device makes such semaphores`;
  }

  /** Does its driver import semaphores of a kind, and signal them? */
  takes(kind: SyncKind): boolean {
    return this.#sync?.signal !== undefined && this.#sync.imports.includes(kind);
  }

  /** Imports a semaphore. Its release goes on the undo list. */
  take(from: Port<SyncKind>, undo: Undo): unknown {
    using port = from;
    const imported = this.#sync!.import(port, this.#line.lane);
    ledger.add(SHARED);
    undo.push(() => this.#free(imported));
    return imported;
  }

  /** A command that signals an import, or waits for it; a timeline with its value. */
  callOf(to: "signal" | "waiting", imported: unknown, value: bigint = 1n): Call {
    return this.#sync![to]!([imported], [value]);
  }

  /** The commands up to a mark are over. */
  over(mark: number): void {
    if (this.#last.length > 0) this.#release((last) => last.mark <= mark);
  }

  /** The command at a mark was refused. It is unknown whether the driver has made its waits. */
  refused(mark: number): void {
    if (this.#last.length > 0) this.#release((last) => last.isOnce && last.mark === mark);
    for (const [other, shared] of this.#incoming) {
      for (const one of shared.filter(({ waited }) => waited === mark)) this.#giveUp(other, one);
    }
  }

  /** The line is closed: releases the imports. Lines that waited for it release theirs of it once their waits are over. */
  close(): void {
    const undo: Undo = [];
    for (const waiting of this.#outgoing) {
      for (const { signals } of waiting.#incoming.get(this.#line) ?? []) undo.push(() => this.#free(signals));
      undo.push(() => waiting.#forget(this.#line));
    }
    for (const other of [...this.#timelines.keys(), ...this.#beside.keys()]) other.sync.#outgoing.delete(this);
    this.#beside.clear();
    for (const [other, shared] of this.#incoming) {
      other.sync.#outgoing.delete(this);
      for (const { signals, waits } of shared) {
        undo.push(() => this.#free(waits));
        other.sync.#keepUntil(other.submitted, () => other.sync.#free(signals));
      }
    }
    this.#incoming.clear();
    undo.push(() => this.#release(() => true));
    for (const timeline of this.#timelines.values()) undo.push(() => this.#sync!.release(timeline));
    this.#timelines.clear();
    undoAll(undo, `closing ${this.#line.name}`);
  }

  #forget(other: SyncedLine): void {
    const mark = this.#line.submitted + 1; // the next command may be about to wait
    for (const { waits } of this.#incoming.get(other) ?? []) this.#keepUntil(mark, () => this.#free(waits));
    const timeline = this.#timelines.get(other);
    if (timeline !== undefined) this.#keepUntil(mark, () => this.#sync!.release(timeline));
    const waits = this.#beside.get(other) ?? 0;
    if (!this.#line.wasOver(waits)) this.#keepUntil(waits, other.driver.lines.keep!(other.lane));
    this.#incoming.delete(other);
    this.#timelines.delete(other);
    this.#beside.delete(other);
  }

  #keepUntil(mark: number, release: () => void, isOnce = false): void {
    this.#last = [...this.#last, { mark, release, isOnce }];
  }

  /** A sync file of one mark, or the other line's own timeline. */
  #waitForPort(other: SyncedLine, mark: number, kind: SyncKind): number {
    const { lane, submitted } = this.#line;
    let imported = this.#timelines.get(other);
    using port = other.driver.lines.sync!.export!(other.lane, mark, kind, imported !== undefined);
    if (port === undefined) return mark;
    // Its signal has come: VK_KHR_external_semaphore_fd says so by -1.
    if (kind.endsWith("-fd") && !isTimeline(kind) && port.fd < 0) return mark;
    if (imported === undefined) {
      imported = this.#sync!.import(port, lane);
      if (isTimeline(kind)) {
        this.#timelines.set(other, imported);
        other.sync.#outgoing.add(this);
      }
    }
    if (!isTimeline(kind)) this.#keepUntil(submitted + 1, () => this.#sync!.release(imported), true);
    this.#sync!.wait(lane, imported, port.value);
    return mark;
  }

  /** The other line signals behind all of its commands so far: the wait may be longer than necessary, never shorter. */
  #waitForSignal(other: SyncedLine): number {
    const shared = this.#shared(other);
    const { lane, submitted } = this.#line;
    const value = isTimeline(shared.kind) ? shared.value + 1n : 1n;
    shared.value = value;
    const before = other.submitted;
    let mark: number;
    try {
      mark = other.submitRaw(other.sync.callOf("signal", shared.signals, value)).mark;
    } catch (error) {
      if (other.submitted > before) this.#giveUp(other, shared);
      throw error;
    }
    shared.waited = submitted + 1;
    this.#sync!.wait(lane, shared.waits, value);
    return mark;
  }

  /**
   * Its signal was submitted, and perhaps no line waits for that: it is not used again. What a line is given next stands
   * behind whatever it does with it. A timeline's next value is another.
   */
  #giveUp(other: SyncedLine, shared: Shared): void {
    if (isTimeline(shared.kind)) return;
    this.#incoming.set(other, this.#incoming.get(other)!.filter((one) => one !== shared));
    other.sync.#keepUntil(other.submitted, () => other.sync.#free(shared.signals));
    this.#keepUntil(shared.waited, () => this.#free(shared.waits));
  }

  /** A semaphore whose last wait is over, or stands in front of the next signal. */
  #shared(other: SyncedLine): Shared {
    const known = this.#incoming.get(other) ?? [];
    const free =
      known.find(({ kind, waited }) =>
        isTimeline(kind) || this.#line.wasOver(waited) || other.isBehind(this.#line, waited)
      ) ?? known.find(({ waited }) => this.#line.isOver(waited));
    if (free !== undefined) return free;
    const made = this.#make(other);
    this.#incoming.set(other, [...known, made]);
    other.sync.#outgoing.add(this);
    return made;
  }

  #make(other: SyncedLine): Shared {
    const { maker, kind } = this.#makerFor(other)!;
    const semaphore = maker.make(kind);
    const undo: Undo = [];
    let made: Shared | undefined;
    const share = () => {
      const signals = other.sync.take(semaphore.export(), undo);
      made = { kind, signals, waits: this.take(semaphore.export(), undo), value: 0n, waited: 0 };
    };
    const failures = unwind([() => semaphore.release(), share]); // the imports keep what is behind it
    throwAll(failures.length === 0 ? failures : [...failures, ...unwind(undo)], "sharing a semaphore");
    return made!;
  }

  #free(imported: unknown): void {
    ledger.remove(SHARED);
    this.#sync!.release(imported);
  }

  #release(isPast: (last: Last) => boolean): void {
    const past = this.#last.filter(isPast);
    this.#last = this.#last.filter((last) => !isPast(last));
    undoAll(past.map(({ release }) => release), `releasing semaphores of ${this.#line.name}`);
  }

  /** The best kind in which the other line exports its marks, and that this one imports. */
  #exportedBy(other: SyncedLine): SyncKind | undefined {
    const theirs = other.driver.lines.sync;
    const own = this.#sync;
    if (own === undefined || theirs?.export === undefined) return undefined;
    const { lane } = this.#line;
    return theirs.exports.find((kind) =>
      own.imports.includes(kind) && own.refuses?.(lane, kind, other.lane) === undefined
    );
  }

  #makerFor(other: SyncedLine): ReturnType<typeof makerFor> {
    const [own, theirs] = [this.#sync, other.driver.lines.sync];
    if (own?.device === undefined || theirs?.signal === undefined || theirs.device === undefined) return undefined;
    const devices = [theirs.device(other.lane), own.device(this.#line.lane)];
    return makerFor(devices, (kind) => own.imports.includes(kind) && theirs.imports.includes(kind));
  }
}

function isTimeline(kind: SyncKind): boolean {
  return kind.startsWith("timeline");
}

/** A native semaphore, with the fds by which other drivers import it. */
export interface NativeSemaphore {
  /** A new fd of it, as a port. */
  export(): Port<SyncKind>;
  /** Destroys the maker's own object; imports of it stay good. */
  release(): void;
}

/** Makes native semaphores for drivers that cannot make any that others import: an open Vulkan device is one. */
export interface SemaphoreMaker {
  /** Its name, for messages. */
  readonly name: string;
  /** Its device. */
  readonly device: DeviceId;
  /** The kinds it makes: `"binary-fd"`, `"timeline-fd"`. */
  readonly kinds: readonly SyncKind[];
  /** Makes one, unsignalled or with the value 0. */
  make(kind: SyncKind): NativeSemaphore;
}

const makers: SemaphoreMaker[] = [];

/** Until the returned function is called, two lines of other drivers may wait for each other by these semaphores. */
export function offerSemaphores(maker: SemaphoreMaker): () => void {
  makers.push(maker);
  return () => void makers.splice(makers.indexOf(maker), 1);
}

/** A maker on one of these devices, and the first kind of its that will do. */
export function makerFor(
  devices: readonly DeviceId[],
  fits: (kind: SyncKind) => boolean,
): { readonly maker: SemaphoreMaker; readonly kind: SyncKind } | undefined {
  for (const maker of makers) {
    if (!devices.some((device) => isSameDevice(device, maker.device))) continue;
    const kind = maker.kinds.find(fits);
    if (kind !== undefined) return { maker, kind };
  }
  return undefined;
}
