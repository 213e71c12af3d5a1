import { libc } from "../../core/native/libc.ts";
import { SLOW_MS } from "../../core/pace.ts";

/** Milliseconds of polling before a wait off the thread, which takes about as long and would slow a busy ring down. */
const POLLING_MS = 0.2;

/** The core is yielded to the other side once in so many polls, because a yield takes longer than a poll. */
const YIELD_EACH = 4;

/** After a wait that took longer, the next one does not poll: the other side is slow. */
const LONG_MS = 2;

/** Waits for the other side of a ring: polls while it is busy, and sleeps while it is not. */
export class Polling {
  #isWorthIt = true;

  /** Asks for a moment, in which the event loop does not turn, where the last wait was short. */
  spin<T>(ask: () => T | undefined): T | undefined {
    if (!this.#isWorthIt) return undefined;
    const end = performance.now() + POLLING_MS;
    let asked = 0;
    do {
      if (asked++ % YIELD_EACH === 0) libc().sched_yield();
      const result = ask();
      if (result !== undefined) return result;
    } while (performance.now() < end);
    return undefined;
  }

  /**
   * Waits, then asks, until there is a result; `wait` resolves when it is worth asking. The caller asks once before.
   * `whenSlow` is called after every {@link SLOW_MS}.
   */
  async until<T>(ask: () => T | undefined, wait: () => Promise<void>, whenSlow: () => void): Promise<T> {
    const start = performance.now();
    const slow = setInterval(whenSlow, SLOW_MS);
    try {
      for (;;) {
        await wait();
        const result = ask();
        if (result === undefined) continue;
        this.#isWorthIt = performance.now() - start < LONG_MS;
        return result;
      }
    } finally {
      clearInterval(slow);
    }
  }
}
