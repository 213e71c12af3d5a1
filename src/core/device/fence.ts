import { isMade, type Names, optionsIn, shown } from "../argument.ts";
import { AccessError, ArgumentError } from "../errors.ts";
import { Printed } from "../printed.ts";
import { libc } from "../native/libc.ts";
import type { Line } from "./line.ts";

/** An event that this program, or a foreign thread, brings about. No blocking call waits behind an unsettled gate. */
export interface Gate {
  /** True once it is settled. */
  readonly settled: boolean;
  /** Its error, if it failed. */
  readonly failure: { readonly error: unknown } | undefined;
  /** Resolves once all listeners were called. Never rejects. */
  readonly opened: Promise<void>;
  /** Calls `notify` in the job in which the gate settles. */
  whenOpen(notify: (failed: boolean) => void): void;
}

/**
 * A gate that a promise opens. Drivers hear of it in the job that sees the promise settle. Otherwise a reaction of the
 * program could run first, and block on the work behind the gate.
 */
export class PromiseGate implements Gate {
  settled = false;
  failure: { readonly error: unknown } | undefined;
  readonly opened: Promise<void>;
  #waiting: ((failed: boolean) => void)[] = [];

  constructor(promise: PromiseLike<unknown>) {
    this.opened = Promise.resolve(promise).then(() => this.#open(), (error) => {
      this.failure = { error };
      this.#open();
    });
  }

  whenOpen(notify: (failed: boolean) => void): void {
    if (this.settled) notify(this.failure !== undefined);
    else this.#waiting.push(notify);
  }

  #open(): void {
    this.settled = true;
    for (const notify of this.#waiting.splice(0)) notify(this.failure !== undefined);
  }
}

/** One line's passage through a gate. When the line ends, the driver fails the commands behind it, and the line abandons it. */
export class Passage implements Gate {
  readonly #gate: Gate;
  readonly #given = Promise.withResolvers<void>();
  #abandoned: { readonly error: unknown } | undefined;

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  /** A getter, so that a gate that polls keeps the process alive only while it is awaited. */
  get opened(): Promise<void> {
    return Promise.race([this.#gate.opened, this.#given.promise]);
  }

  get settled(): boolean {
    return this.#abandoned !== undefined || this.#gate.settled;
  }

  get failure(): { readonly error: unknown } | undefined {
    return this.#gate.failure ?? this.#abandoned;
  }

  whenOpen(notify: (failed: boolean) => void): void {
    this.#gate.whenOpen(notify);
  }

  abandon(): void {
    const what = "The queue was disposed before what it waited for.";
    this.#abandoned ??= { error: new AccessError(what, { api: "core" }) };
    this.#given.resolve();
  }
}

/** How long a wait polls before it goes to the driver, in milliseconds. */
const POLL_MS = 0.05;

/** Native waits in flight at a time: each holds a thread of Deno's pool of 32, which file reads need too. */
const MAX_IN_FLIGHT = 4;

let inFlight = 0;

/** Options of {@link Fence.wait}. */
export interface WaitOptions {
  /** Stops the wait, not the work: the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

const OPTIONS: Names<WaitOptions> = { signal: true };

/**
 * A point in a line of work. It is reached when all commands up to its mark are over. It holds nothing native and needs no
 * dispose. `await fence` waits for it, as {@link wait} does.
 *
 * @example
 * ```ts
 * import { host } from "@samepage/interop";
 *
 * const { promise, resolve } = Promise.withResolvers<void>();
 * const fence = host.signal(promise);
 * console.log(fence.reached()); // false
 * resolve();
 * await fence;
 * ```
 */
export class Fence extends Printed implements PromiseLike<void> {
  /** The line of work. */
  readonly line: Line;
  /** The number of the line's commands that it covers. */
  readonly mark: number;
  readonly #made = true;

  /** Made by lines. */
  constructor(line: Line, mark: number) {
    super();
    this.line = line;
    this.mark = mark;
  }

  /** True for an instance that this class made. For mappers. */
  static owns(value: object): boolean {
    return #made in value;
  }

  /** Which work it stands behind. */
  toString(): string {
    return `fence at mark ${this.mark} of ${this.line.name}`;
  }

  /** True once the work is done. @throws the work's error, or the driver's if the poll fails. */
  reached(): boolean {
    if (!this.line.isOver(this.mark)) return false;
    this.line.raise(this.mark);
    return true;
  }

  /**
   * Blocks until the work is done.
   *
   * @throws {AccessError} (`argument` is `"fence"`) if the work waits for an unsettled promise.
   * @throws {NativeCallError} if the work failed.
   */
  waitSync(): void {
    this.line.block(this.mark);
    this.line.raise(this.mark);
  }

  /** Waits without blocking the event loop. @throws the work's error, or the signal's reason. */
  async wait(options: WaitOptions = {}): Promise<void> {
    const { signal } = optionsIn(options, OPTIONS);
    if (signal !== undefined && !(signal instanceof AbortSignal)) {
      throw new ArgumentError(`signal: expected an AbortSignal, got ${shown(signal)}.`, {
        api: "core",
        argument: "signal",
      });
    }
    signal?.throwIfAborted();
    const done = this.#settled();
    await (signal === undefined ? done : unlessAborted(done, signal));
  }

  /**
   * What `await fence` and `Promise.all(fences)` call: {@link wait} without options. So an async function that returns a
   * fence waits for it, and resolves to undefined.
   *
   * A promise that is resolved with a fence waits for it, too. If the fence stands behind that same promise (of
   * `host.signal(promise)`), neither ever ends, and nothing throws: to a fence, this call looks like any other `await`.
   * Resolve the promise with `{ fence }`, or with nothing.
   */
  then<R = void, E = never>(
    onReached?: ((value: void) => R | PromiseLike<R>) | null,
    onFailed?: ((error: unknown) => E | PromiseLike<E>) | null,
  ): Promise<R | E> {
    return this.wait().then(onReached, onFailed);
  }

  async #settled(): Promise<void> {
    for (let gates = this.line.gatesAt(this.mark); gates !== undefined; gates = this.line.gatesAt(this.mark)) {
      await Promise.all(gates.map(({ opened }) => opened));
    }
    if (this.#poll()) return;
    while (true) {
      if (this.line.driver.lines.takesThread === false) await this.line.waitElsewhere(this.mark);
      else if (inFlight < MAX_IN_FLIGHT) await this.#waitInFlight();
      if (this.reached()) return;
      await sleep(1); // so that other waits have their turn
    }
  }

  /** Polls for a short while, enough for short work. It yields between polls, because the device may be this CPU. */
  #poll(): boolean {
    if (this.reached()) return true;
    if (this.line.driver.lines.takesThread === false) return false; // another C thread is awaited, not a device
    const end = performance.now() + POLL_MS;
    while (performance.now() < end) {
      libc().sched_yield(); // cannot fail
      if (this.reached()) return true;
    }
    return false;
  }

  async #waitInFlight(): Promise<void> {
    inFlight++;
    try {
      await this.line.waitElsewhere(this.mark);
    } finally {
      inFlight--;
    }
  }
}

export function fenceIn(given: unknown, argument: string, api = "core"): Fence {
  if (isMade(given, Fence)) return given;
  const isThenable = typeof (given as Partial<PromiseLike<unknown>> | null | undefined)?.then === "function";
  const hint = isThenable ? "Make one: host.signal(promise)." : "Make one: host.signal(promise), or queue.fence().";
  throw new ArgumentError(`${argument}: expected a fence, got ${shown(given)}.`, { api, argument, hint });
}

/** The fences of an option that takes none, one or several. @throws {ArgumentError} for anything else. */
export function fencesIn(
  given: Fence | readonly Fence[] | undefined,
  argument: string,
  api = "core",
): readonly Fence[] {
  if (given === undefined) return NONE;
  if (!Array.isArray(given)) return [fenceIn(given, argument, api)];
  return Array.from(given, (fence, i) => fenceIn(fence, `${argument}[${i}]`, api)); // not map(), which skips holes
}

const NONE: readonly Fence[] = [];

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

export function unlessAborted<T>(done: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort(); // its event has been
    signal.addEventListener("abort", abort, { once: true });
    done.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
