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

  /** Asks again until there is an answer; `wait` resolves when it is time to. Who has not asked yet asks before. */
  async until<T>(ask: () => T | undefined, wait: () => Promise<void>): Promise<T> {
    const start = performance.now();
    const end = this.#isWorthIt ? start + POLLING_MS : start;
    for (let now = start;; now = performance.now()) {
      if (now >= end) await wait();
      else libc().sched_yield(); // the other side may need this core
      const answer = ask();
      if (answer === undefined) continue;
      this.#isWorthIt = performance.now() - start < LONG_MS;
      return answer;
    }
  }
}
