import { libc } from "../../core/native/libc.ts";

/**
 * How long to ask again and again before waiting off the thread, in milliseconds. That wait takes about as long, and would
 * keep both sides of a busy ring waiting for each other.
 */
const POLLING_MS = 0.2;

/** After a wait that took longer, the next is not polled for: the other side is in no hurry. */
const LONG_MS = 2;

/** Waits for the other side of a ring: at once where it is busy, and without work where it is not. */
export class Polling {
  #isWorthIt = true;

  /** Asks until there is an answer; `wait` resolves when it is time to ask again. */
  async until<T>(ask: () => T | undefined, wait: () => Promise<void>): Promise<T> {
    let answer = ask();
    if (answer !== undefined) return answer;
    const start = performance.now();
    const end = this.#isWorthIt ? start + POLLING_MS : start;
    for (let now = start; answer === undefined; now = performance.now()) {
      if (now >= end) await wait();
      else libc().sched_yield(); // the other side may need this core
      answer = ask();
    }
    this.#isWorthIt = performance.now() - start < LONG_MS;
    return answer;
  }
}
