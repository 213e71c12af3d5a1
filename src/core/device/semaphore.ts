import { Printed } from "../printed.ts";
import { type Names, object, optionsIn, unexpected } from "../argument.ts";
import type { Call } from "../contract.ts";
import { AccessError, ArgumentError } from "../errors.ts";
import { finalizers } from "../life/finalizers.ts";
import { NativeObject } from "../life/native_object.ts";
import { Resource } from "../life/resource.ts";
import type { Undo } from "../life/undo.ts";
import type { Fence } from "./fence.ts";
import { Line } from "./line.ts";
import type { NativeSemaphore, SemaphoreMaker } from "./line_sync.ts";

/** What a semaphore is: each signal of a binary one is for one wait; a timeline has a value that only grows. */
export type SemaphoreType = "binary" | "timeline";

/** Options of {@link Semaphore.create}. */
export interface SemaphoreOptions {
  /** `"binary"` by default. */
  readonly kind?: SemaphoreType;
}

/** An open device that makes semaphores for other APIs, as a VulkanContext does. */
export interface SemaphoreExporter {
  /** Its name, for messages. */
  readonly name: string;
  /** Its end of life: its semaphores end first. */
  readonly resource: Resource;
  /** Its maker. */
  readonly semaphores: SemaphoreMaker;
}

/** The newest wait of a line. */
interface Wait {
  readonly waiter: Line;
  mark: number;
}

/** A line of work, or what has one: a context with a default queue, a queue, a stream. */
export interface HasLine {
  /** Its line. */
  readonly line: Line;
}

const OPTIONS: Names<SemaphoreOptions> = { kind: true };

/**
 * A native semaphore that several APIs signal and wait for on their devices. Most programs need none: where work of one
 * line has to wait for another's, samepage uses semaphores by itself.
 *
 * A wait is accepted only after its signal was submitted, and a binary semaphore is signalled again only behind the wait
 * for its last signal, a timeline only behind its last signal. So no wait is in vain, and no cycle can be made.
 *
 * @example
 * ```ts ignore
 * import { Semaphore } from "@samepage/interop";
 * import { OpenCLContext } from "@samepage/interop/opencl";
 * import { VulkanContext } from "@samepage/interop/vulkan";
 *
 * using vulkan = VulkanContext.open();
 * using cl = OpenCLContext.open();
 * using semaphore = Semaphore.create(vulkan, { kind: "binary" });
 * semaphore.in(vulkan).signal(); // behind all that was submitted to vulkan's queue
 * semaphore.in(cl).wait(); // what is submitted to cl's queue from now on runs behind it
 * ```
 */
export class Semaphore extends NativeObject {
  /** Binary, or a timeline. */
  readonly kind: SemaphoreType;
  /** Its end of life, which waits for the commands that use it. */
  readonly resource: Resource;
  readonly #native: NativeSemaphore;
  readonly #of: string;
  readonly #parts = new Map<Line, SemaphoreIn>();
  #value = 0n;
  #signalled: Fence | undefined;
  /** The newest wait of each line; no mark ever reaches one that failed. */
  readonly #waits: Wait[] = [];

  private constructor(exporter: SemaphoreExporter, kind: SemaphoreType, native: NativeSemaphore) {
    super();
    this.kind = kind;
    this.#native = native;
    this.#of = exporter.name;
    this.resource = new Resource({
      name: `${kind} semaphore of ${exporter.name}`,
      owners: [exporter.resource],
      undo: [() => native.release()],
    });
    finalizers.register(this, this.resource, this);
  }

  /**
   * Makes a semaphore, unsignalled or with the value 0.
   *
   * @throws {ArgumentError} if the exporter makes none of this kind.
   * @throws {NativeCallError} if the driver refuses.
   */
  static create(exporter: SemaphoreExporter, options: SemaphoreOptions = {}): Semaphore {
    const { kind = "binary" } = optionsIn(options, OPTIONS);
    if (kind !== "binary" && kind !== "timeline") throw unexpected("kind", '"binary" or "timeline"', kind);
    const { semaphores, name, resource } = object(exporter, "exporter");
    if (!(resource instanceof Resource) || typeof semaphores !== "object" || semaphores === null) {
      throw unexpected("exporter", "a context that makes semaphores", exporter);
    }
    resource.assertLive();
    const port = `${kind}-fd` as const;
    if (!semaphores.kinds.includes(port)) {
      throw new ArgumentError(`exporter: ${name} makes no ${kind} semaphores that others can import.`, {
        api: "core",
        argument: "exporter",
        hint: "The doctor says what its driver exports. Maps and fences order the work without one.",
      });
    }
    return new Semaphore(exporter, kind, semaphores.make(port));
  }

  /** The value of a timeline's newest signal. */
  get value(): bigint {
    return this.#value;
  }

  /**
   * Makes a new fd of it, for code that samepage does not know. Your program owns the fd. The driver keeps the semaphore
   * for as long as anything imports it, also when this object has ended.
   *
   * What that code signals and waits for is not seen here, so {@link SemaphoreIn} refuses what would fit it: play our side
   * by `importSemaphore(fd)` of a context, and hand the fd over afterwards.
   *
   * @throws {NativeCallError} if the driver refuses.
   *
   * @example
   * ```ts ignore
   * import { Semaphore } from "@samepage/interop";
   * import { VulkanContext } from "@samepage/interop/vulkan";
   *
   * declare const theirs: { take(fd: number): void; submit(): void }; // a program's own C code
   * using vulkan = VulkanContext.open();
   * using made = Semaphore.create(vulkan);
   * const fd = made.exportFd();
   * using ready = vulkan.importSemaphore(fd);
   * theirs.take(fd); // vkImportSemaphoreFdKHR, which closes it
   * theirs.submit(); // it signals behind its work
   * ready.wait();
   * ```
   */
  exportFd(): number {
    this.resource.assertLive();
    return this.#native.export().takeFd();
  }

  /**
   * The semaphore as one line knows it: of a context, its default queue. It is imported there once, and ends with the first
   * of the contexts that use it.
   *
   * @throws {ArgumentError} if the API cannot import it.
   */
  in(user: HasLine): SemaphoreIn {
    this.resource.assertLive();
    const { line } = object(user, "user");
    if (!(line instanceof Line)) throw unexpected("user", "a context, a queue or a stream", user);
    line.resource.assertLive();
    let part = this.#parts.get(line);
    if (part === undefined) this.#parts.set(line, part = this.#import(line));
    return part;
  }

  #import(line: Line): SemaphoreIn {
    const { sync, name } = line;
    if (!sync.takes(`${this.kind}-fd`)) {
      throw new ArgumentError(`user: ${name} imports no ${this.kind} semaphores by an fd.`, {
        api: line.driver.api,
        argument: "user",
        hint: `Its device has to be able to import those of ${this.#of}: the doctor says why it is not.`,
      });
    }
    const undo: Undo = [];
    const imported = sync.take(this.#native.export(), undo);
    this.resource.undo.push(...undo);
    this.resource.dependOn(line.resource);
    const callOf = (to: "signal" | "waiting") => {
      let once: Call | undefined; // a binary one has no values
      return () =>
        this.kind === "timeline" ? sync.callOf(to, imported, this.#value) : once ??= sync.callOf(to, imported);
    };
    const [signal, wait] = [callOf("signal"), callOf("waiting")];
    return new SemaphoreIn({
      name: `${this.resource.name} in ${line.name}`,
      signal: () => this.#signal(line, signal),
      wait: () => this.#wait(line, wait),
    });
  }

  #signal(line: Line, callOf: () => Call): Fence {
    this.resource.assertLive();
    line.resource.assertLive();
    if (this.kind === "binary") this.#assertFree(line);
    else this.#assertNext(line);
    const before = line.submitted;
    const last = this.#value;
    this.#value = this.kind === "binary" ? 1n : last + 1n;
    try {
      return this.#submitted(line.submitRaw(callOf()));
    } catch (error) {
      if (line.submitted > before) this.#submitted(line.fence()); // it could not be flushed
      else this.#value = last;
      throw error;
    }
  }

  #submitted(signal: Fence): Fence {
    this.resource.work.add(signal);
    return this.#signalled = signal;
  }

  /** Throws unless the last signal was waited for, and the new one comes behind that wait. */
  #assertFree(line: Line): void {
    if (this.#signalled !== undefined) {
      throw new AccessError("the semaphore was signalled, and no wait has taken that signal yet.", {
        api: "core",
        hint: "Submit the wait first, or make one more semaphore.",
      });
    }
    for (let i = 0; i < this.#waits.length; i++) {
      const { waiter, mark } = this.#waits[i];
      if (isAfter(line, waiter, mark)) continue;
      throw new AccessError(`the wait of ${waiter.name} for the last signal may not be over.`, {
        api: "core",
        hint: `Have ${line.name} wait for it: by a second semaphore, or by a fence.`,
      });
    }
  }

  /** Throws unless the new value comes behind the last one: a wait for that would take a greater one for it. */
  #assertNext(line: Line): void {
    const last = this.#signalled;
    if (last === undefined || isAfter(line, last.line, last.mark)) return;
    throw new AccessError(`the last signal, of ${last.line.name}, may not be over.`, {
      api: "core",
      hint: `Have ${line.name} wait for it first: wait() before signal().`,
    });
  }

  /** Throws unless a wait comes behind the earlier ones: it could take an earlier signal, and that wait would never end. */
  #assertNextWait(line: Line): void {
    for (let i = 0; i < this.#waits.length; i++) {
      const { waiter, mark } = this.#waits[i];
      if (isAfter(line, waiter, mark)) continue;
      throw new AccessError(
        `the wait of ${waiter.name} for an earlier signal may not be over, and this one could take it.`,
        {
          api: "core",
          hint: `Have ${line.name} wait for ${waiter.name} first, by a fence; or make one more semaphore.`,
        },
      );
    }
  }

  #wait(line: Line, callOf: () => Call): void {
    this.resource.assertLive();
    line.resource.assertLive();
    const signal = this.#signalled;
    if (signal === undefined) {
      throw new AccessError("a wait comes after its signal, and none was submitted.", {
        api: "core",
        hint: "Call signal() on the other line first.",
      });
    }
    signal.line.raise(signal.mark);
    if (signal.line.gatesAt(signal.mark) !== undefined) {
      throw new AccessError("the wait might never end: the signal waits for a promise that is not settled.", {
        api: "core",
        hint: "Settle it first, or await the fence that signal() returned.",
      });
    }
    if (this.kind === "binary") {
      this.#assertNextWait(line);
      this.#signalled = undefined;
    }
    let last = this.#waits.find(({ waiter }) => waiter === line);
    if (last === undefined) this.#waits.push(last = { waiter: line, mark: 0 });
    last.mark = Infinity; // where it fails, it is unknown whether the driver has made the wait
    line.standBehind(signal.line, signal.mark);
    const fence = line.submitRaw(callOf()); // by itself: the next command may be refused, and would take the wait along
    last.mark = fence.mark;
    this.resource.work.add(fence);
  }
}

/** True if the next command of a line comes behind a mark of another one, or of its own. */
function isAfter(line: Line, other: Line, mark: number): boolean {
  return mark <= other.submitted && (other === line || line.isBehind(other, mark) || other.isOver(mark));
}

interface Part {
  readonly name: string;
  signal(): Fence;
  wait(): void;
}

/** A semaphore in one line: made by {@link Semaphore.in}. */
export class SemaphoreIn extends Printed {
  readonly #part: Part;

  /** Made by semaphores. */
  constructor(part: Part) {
    super();
    this.#part = part;
  }

  /** Its name, and the line's. */
  toString(): string {
    return this.#part.name;
  }

  /**
   * Submits a signal behind all commands of the line so far. A timeline's value grows by one.
   *
   * @returns the fence of the signal
   * @throws {AccessError} if a binary semaphore was signalled before and not waited for, or that wait may come after this;
   * if the last signal of a timeline may.
   */
  signal(): Fence {
    return this.#part.signal();
  }

  /**
   * The line's later commands wait on the device for the newest signal.
   *
   * @throws {AccessError} if no signal was submitted, or a binary one was waited for already, or another line's wait for an
   * earlier one may not be over, or the signal itself waits for a promise that is not settled.
   * @throws the signal's own error, if it has failed.
   */
  wait(): void {
    this.#part.wait();
  }
}
