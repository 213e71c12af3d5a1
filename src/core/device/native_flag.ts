import type { Address } from "../../../ffi/address.ts";
import { type Names, optionsIn, shown } from "../argument.ts";
import { Checks } from "../checks.ts";
import { type AccessError, InteropError, messageOf, warn } from "../errors.ts";
import { registerLater, unregister } from "../life/finalizers.ts";
import { ledger } from "../life/ledger.ts";
import { Resource } from "../life/resource.ts";
import type { Undo } from "../life/undo.ts";
import { takeOut } from "../memory/peers.ts";
import {
  callbackAddress,
  type CallbackMemory,
  type CallbackName,
  CALLBACKS,
  giveBackCallbackMemory,
  takeCallbackMemory,
} from "../native/callbacks.ts";
import { codeError } from "../native/codes.ts";
import { Printed, withFacts } from "../printed.ts";
import type { LineEvents } from "../contract.ts";
import type { Fence } from "./fence.ts";
import { polledFence, type PolledWork } from "./foreign_work.ts";

const KIND = "native.flag";

const MAX_CALLS = 2 ** 31 - 1;

const STRUCT = 128;
const LONGEST = 4096;

/** How often the flags that were disposed too early are asked about, in milliseconds: first, and at the most. */
const [SOON_MS, LATE_MS] = [1, 256];

const checks: Checks = new Checks("core");

/** Options of {@link NativeFlag}. */
export interface NativeFlagOptions {
  /**
   * The function of C that is called back; `"sem_post"` if left out. It counts its calls, and takes `data` as its first
   * argument. `"sigemptyset"` zeroes the first eight bytes of the struct that it is given: it is the deleter in a struct.
   */
  readonly by?: "sem_post" | "sigemptyset";
  /** For `"sem_post"`: after how many calls the flag is set; 1 if left out. */
  readonly count?: number;
  /** For `"sigemptyset"`: how many bytes the struct at `data` takes, at most 4096; 128 if left out. */
  readonly byteLength?: number;
  /** What it stands for, in messages: `"the release of an AVFrame"`. */
  readonly name?: string;
  /** Asked before this thread blocks on it: the error where no call would ever come then. */
  readonly deadlock?: (() => AccessError | undefined) | undefined;
}

const OPTIONS: Names<NativeFlagOptions> = { by: true, count: true, byteLength: true, name: true, deadlock: true };

/** What a flag waits for, without a finalizer. C may still call it when the flag is gone, so it reaches no flag. */
export class Signal implements PolledWork, Disposable {
  readonly api = "core";
  readonly name: string;
  /** Its place among those that ended before C had made all its calls. */
  place = 0;
  readonly by: CallbackName;
  readonly count: number;
  readonly memory: CallbackMemory;
  readonly byteLength: number;
  /** Asked each time before a thread blocks. */
  deadlock: PolledWork["deadlock"];
  /** Why no call comes. */
  withdrawn: InteropError | undefined;
  #calls = 0;
  #events: LineEvents | undefined;
  #fence: Fence | undefined;
  #isFreed = false;

  constructor(
    name: string,
    by: CallbackName = "sem_post",
    count = 1,
    byteLength = STRUCT,
    deadlock?: PolledWork["deadlock"],
  ) {
    this.name = name;
    this.by = by;
    this.count = count;
    this.byteLength = byteLength;
    this.deadlock = deadlock;
    this.memory = takeCallbackMemory(byteLength);
    try {
      CALLBACKS[by].prepare(this.memory);
    } catch (error) {
      giveBackCallbackMemory(this.memory);
      throw error;
    }
    ledger.add(KIND);
  }

  get calls(): number {
    const left = this.count - this.#calls;
    if (!this.#isFreed && left > 0) this.#calls += CALLBACKS[this.by].calls(this.memory, left);
    return this.#calls;
  }

  isSet(): boolean {
    return this.withdrawn === undefined && this.calls >= this.count;
  }

  /** True if C no longer calls. */
  isOver(): boolean {
    return this.withdrawn !== undefined || this.isSet();
  }

  fence(): Fence {
    if (this.#fence !== undefined) return this.#fence;
    this.#fence = polledFence(this);
    if (this.withdrawn !== undefined) this.#events?.failed(1, this.withdrawn);
    return this.#fence;
  }

  get fn(): string {
    return this.by;
  }

  error(code: number, fn: string): Error {
    return codeError({ api: this.api, names: new Map(), unknown: "an unknown code" }, code, fn);
  }

  begin(events: LineEvents): void {
    this.#events = events;
  }

  /** The address of C's function. */
  get callback(): Address {
    return callbackAddress(this.by);
  }

  /** Its argument. */
  get data(): Address {
    return this.memory.address;
  }

  /** Says that no call will come, if none has. */
  withdraw(): void {
    if (this.isOver()) return;
    this.withdrawn = new InteropError(`${this.name} was withdrawn: its callback is never called.`, { api: "core" });
    this.#events?.failed(1, this.withdrawn);
  }

  /** Frees its memory, or has that done as soon as C has made its calls. The process may exit before. */
  [Symbol.dispose](): void {
    if (this.isOver()) this.free();
    else freeLate(this);
  }

  /** The same where C has hardly had the time: it is not asked now. */
  disposeLate(): void {
    freeLate(this);
  }

  free(): void {
    this.#isFreed = true;
    ledger.remove(KIND);
    CALLBACKS[this.by].end(this.memory);
    giveBackCallbackMemory(this.memory);
  }
}

/** Signals that ended before C had made all its calls. */
const late: Signal[] = [];
/** Which of them is asked next. */
let next = 0;
let isAsking = false;

function freeLate(signal: Signal): void {
  for (let asked = 0; asked < 2 && late.length > 0; asked++) { // else a loop that never waits would keep them all
    next = next === 0 ? late.length - 1 : Math.min(next, late.length) - 1;
    askAbout(late[next]);
  }
  signal.place = late.push(signal) - 1;
  if (!isAsking) askLater(SOON_MS);
}

function askLater(pause: number): void {
  isAsking = true;
  Deno.unrefTimer(setTimeout(() => askAboutLate(pause), pause));
}

function askAboutLate(pause: number): void {
  const before = late.length;
  for (let i = before - 1; i >= 0; i--) askAbout(late[i]);
  if (late.length > 0) askLater(late.length < before ? SOON_MS : Math.min(2 * pause, LATE_MS));
  else isAsking = false;
}

/** Frees one whose calls have come; the last of the list takes its place. */
function askAbout(signal: Signal): void {
  try {
    if (!signal.isOver()) return;
    takeOut(late, signal);
    signal.free();
  } catch (error) {
    warn(`ending ${signal.name}: ${messageOf(error)}`);
  }
}

/**
 * A notice from native code without a JavaScript callback: other libraries are given a function of C and its argument, and
 * call it on any thread. Libraries that release memory or finish work by a callback need one; a JavaScript callback would
 * hang where such a thread is waited for. For backends.
 *
 * | the callback's type                      | by                                                                   |
 * | ---------------------------------------- | -------------------------------------------------------------------- |
 * | `void (*)(void *data)`                   | `"sem_post"`                                                         |
 * | `void (*)(void *data, …)`                | `"sem_post"`: it ignores what follows (not after a float or a struct) |
 * | `int (*)(void *data)`, 0 for success     | `"sem_post"`                                                         |
 * | `void (*deleter)(struct S *self)`        | `"sigemptyset"`: the struct lies at `data`, and is never 0 at first  |
 * | `void (*)(handle, …, void *data)`        | none: `data` has to come first                                       |
 *
 * The memory at `data` stays valid until C has made all its calls, also after dispose: then it is freed in the background,
 * and counts as `native.flag` in the {@link ledger} until that. It does not keep the process alive. After the last call
 * that it waits for, nothing may call it again. Where it is certain that no call comes, {@link withdraw} says so.
 *
 * @example
 * ```ts
 * import { NativeFlag } from "@samepage/interop/backend";
 *
 * using released = new NativeFlag();
 * const thread = { pthread_create: { parameters: ["buffer", "u64", "u64", "u64"], result: "i32" } } as const;
 * const { pthread_create } = Deno.dlopen("libc.so.6", thread).symbols;
 * // A C thread, whose only function is the callback:
 * pthread_create(new BigUint64Array(1), 0n, released.callback, released.data);
 * await released.fence();
 * console.log(released.isSet()); // true
 * ```
 */
export class NativeFlag extends Printed implements Disposable {
  /** The address of the function. */
  readonly callback: Address;
  /** Its end of life. It waits for nothing: what C may still write to is freed later. */
  readonly resource: Resource;
  readonly #signal: Signal;

  /**
   * Makes one that is not set.
   *
   * @throws {ArgumentError} for an unknown function, a count or a length out of range, or one that the function lacks.
   * @throws {NativeCallError} if there is no memory.
   */
  constructor(options: NativeFlagOptions = {}) {
    super();
    const { by = "sem_post", count, byteLength, name = "a native flag", deadlock } = optionsIn(options, OPTIONS);
    checks.nameIn(by, CALLBACKS, "by");
    checks.assertText(name, "name");
    if (deadlock !== undefined && typeof deadlock !== "function") {
      throw checks.wrongKind("deadlock", "a function", deadlock);
    }
    const { takesStruct } = CALLBACKS[by];
    assertRange(count, "count", MAX_CALLS, takesStruct && "sigemptyset is called once.");
    assertRange(byteLength, "byteLength", LONGEST, !takesStruct && "sem_post has a semaphore of its own.");
    this.callback = callbackAddress(by);
    const signal = this.#signal = new Signal(name, by, count ?? 1, byteLength, deadlock);
    this.resource = new Resource({ name, undo: endOf(signal) });
    registerLater(this, this.resource);
  }

  /** The function's argument: the first of the callback. @throws {DisposedError} once it was disposed. */
  get data(): Address {
    this.resource.assertLive();
    return this.#signal.memory.address;
  }

  /** How many calls there were so far: at most as many as it waits for. */
  get calls(): number {
    return this.#signal.calls;
  }

  /** True once all calls have come, also after dispose. */
  isSet(): boolean {
    return this.#signal.isSet();
  }

  /** A fence that is reached once it is set, also after dispose, and fails if it is withdrawn. It is polled. */
  fence(): Fence {
    return this.#signal.fence();
  }

  /**
   * For `"sigemptyset"`: writes the struct at `data`, or a part of it from byte `at` on. Its first eight bytes must not
   * all be zero, since the call zeroes them.
   *
   * @throws {ArgumentError} for another function, a struct that does not fit or that begins with zeros, or a call that
   * came.
   * @throws {DisposedError} once it was disposed.
   */
  write(bytes: ArrayBufferView, at: number = 0): void {
    this.resource.assertLive();
    const { memory, by, byteLength } = this.#signal;
    if (!CALLBACKS[by].takesStruct) throw checks.wrong("bytes", `${by} has a semaphore at data, and no struct.`);
    if (this.isSet()) throw checks.wrong("bytes", "the struct was released already.", "Make another flag.");
    const given = checks.bytesIn(bytes, "bytes");
    if (!Number.isSafeInteger(at) || at < 0 || at + given.length > byteLength) {
      const expected = `expected at most ${byteLength} bytes from byte 0 on`;
      throw checks.wrong("bytes", `${expected}, got ${given.length} from byte ${shown(at)} on.`);
    }
    if (
      isZero(memory.bytes, 0, Math.min(at, 8)) && isZero(given, 0, Math.min(given.length, 8 - at)) &&
      isZero(memory.bytes, at + given.length, 8)
    ) {
      throw checks.wrong("bytes", "the struct's first eight bytes are zero, as if it was released already.");
    }
    memory.bytes.set(given, at);
  }

  /**
   * Says that no call will come: what would have called was ended, or never began. Its fence fails, and its memory is
   * freed when it is disposed, or soon if it was. It does nothing where the flag is set.
   */
  withdraw(): void {
    this.#signal.withdraw();
  }

  /** What it stands for, and how far it has come. */
  toString(): string {
    const { name, count, calls, withdrawn } = this.#signal;
    const state = withdrawn !== undefined ? "withdrawn" : calls >= count ? "set" : `${calls} of ${count} calls`;
    return withFacts(name, [state, this.resource.end]);
  }

  /** Ends it, without waiting: if it is not set, its memory is freed once C has made its calls. Idempotent. */
  [Symbol.dispose](): void {
    unregister(this.resource);
    this.resource.dispose();
  }
}

function isZero(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (bytes[i] !== 0) return false;
  return true;
}

/** Apart from the constructor: V8 keeps the objects of a constructor that makes closures for long. */
function endOf(signal: Signal): Undo {
  return [() => signal[Symbol.dispose]()];
}

function assertRange(
  given: number | undefined,
  argument: "count" | "byteLength",
  most: number,
  whyNone: string | false,
): void {
  if (given === undefined) return;
  if (whyNone !== false) throw checks.wrong(argument, whyNone);
  checks.assertInteger(given, argument, 1, most);
}
