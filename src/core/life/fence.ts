import { isMade, type Names, optionsIn, shown } from "../argument.ts";
import type { Context } from "../graph/context.ts";
import { ArgumentError } from "../errors.ts";
import { libc } from "../native/libc.ts";

/** How long a wait polls before it goes to the driver, in milliseconds. */
const POLL_MS = 0.05;

/** Native waits in flight at a time: each holds a thread of Deno's pool of 32, which file reads need too. */
const MOST_IN_FLIGHT = 4;

let inFlight = 0;

/** Options of {@link Fence.wait}. */
export interface WaitOptions {
  /** Stops waiting, not the work: the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

const OPTIONS: Names<WaitOptions> = { signal: true };

/**
 * A point in one API's work that others can wait for.
 *
 * A fence is no promise: `wait()` makes one. It owns its native object; whoever is given a fence retains it, so that
 * disposing one's own cancels nothing.
 */
export abstract class Fence implements Disposable {
  readonly #made = true;

  /** The API and device whose work it is. */
  abstract readonly context: Context;
  /** The in-order line of work it belongs to (a queue); work submitted to the same line later runs after it anyway. */
  abstract readonly line: object;

  /** True for what this class has made, and not for a proxy of it: for those who write mappers. */
  static owns(value: object): boolean {
    return #made in value;
  }

  /** True once the work is done. @throws what made the work fail, or why the driver could not be asked. */
  abstract reached(): boolean;

  /** True once the work is known to be over: what {@link reached} throws before that says nothing of it. */
  get over(): boolean {
    return true;
  }

  /**
   * Blocks until the work is done.
   *
   * @throws {AccessError} (`argument` is `"fence"`) where the work waits for an event of this isolate that is not set.
   * @throws {NativeCallError} where the work failed.
   */
  abstract waitSync(): void;

  /**
   * True where an earlier fence of the same line need not be kept beside this one: once this is reached so is that, and
   * what makes that work fail makes this fail. For those who write mappers.
   */
  supersedes(_earlier: Fence): boolean {
    return false;
  }

  /** Another owner of the same point. */
  abstract retain(): Fence;

  /** Gives up this owner's share; the work goes on. */
  abstract [Symbol.dispose](): void;

  /** Settles once a native wait makes sense: after the events of this isolate that the work waits for are set. */
  protected abstract waitable(): Promise<void> | undefined;

  /** One native wait off this thread. */
  protected abstract waitNonblocking(): Promise<void>;

  /** Waits without blocking the event loop. @throws what made the work fail, or the signal's own reason. */
  async wait(options: WaitOptions = {}): Promise<void> {
    const { signal } = optionsIn(options, OPTIONS);
    if (signal !== undefined && !(signal instanceof AbortSignal)) {
      throw new ArgumentError(`signal: ${shown(signal)} is no AbortSignal.`, { api: "core", argument: "signal" });
    }
    signal?.throwIfAborted();
    const gated = this.waitable();
    if (gated === undefined && this.#poll()) return;
    const held = this.retain();
    const done = held.#settled(gated).finally(() => held[Symbol.dispose]());
    await (signal === undefined ? done : unlessAborted(done, signal));
  }

  async #settled(gated: Promise<void> | undefined): Promise<void> {
    if (gated !== undefined) {
      await gated;
      if (this.#poll()) return;
    }
    while (true) {
      if (inFlight < MOST_IN_FLIGHT) await this.#waitInFlight();
      if (this.reached()) return;
      await sleep(1); // whatever the wait was, others have their turn
    }
  }

  /** Asks for a short while, in which short work is done; a device that is a CPU gets its turn between two questions. */
  #poll(): boolean {
    const end = performance.now() + POLL_MS;
    while (!this.reached()) {
      if (performance.now() >= end) return false;
      libc().sched_yield(); // cannot fail
    }
    return true;
  }

  async #waitInFlight(): Promise<void> {
    inFlight++;
    try {
      await this.waitNonblocking();
    } finally {
      inFlight--;
    }
  }
}

/** Another owner of a fence that a program gave. @throws {ArgumentError} for anything else. */
export function retained(fence: unknown, argument: string): Fence {
  if (isMade(fence, Fence)) return fence.retain();
  throw new ArgumentError(`${argument}: ${shown(fence)} is no fence.`, { api: "core", argument });
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function unlessAborted(done: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    done.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
