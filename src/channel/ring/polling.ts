import { libc } from "../../core/native/libc.ts";
import { SLOW_MS } from "../../core/pace.ts";

/** Milliseconds of polling before a wait off the thread, which takes about as long and would slow a busy ring down. */
const POLLING_MS = 0.2;

/** After a wait that took longer, the next one does not poll: the other side is slow. */
const LONG_MS = 2;

/** Waits for the other side of a ring: polls while it is busy, and sleeps while it is not. */
export class Polling {
  #isWorthIt = true;

  /**
   * Waits, then asks, until there is a result; `wait` resolves when it is worth asking. The caller asks once before.
   * `polls` is false if another task of this program has to act, which it cannot while this one polls. `whenSlow` is
   * called after every {@link SLOW_MS}.
   */
  async until<T>(
    ask: () => T | undefined,
    wait: () => Promise<void>,
    polls: boolean,
    whenSlow: () => void,
  ): Promise<T> {
    const start = performance.now();
    const end = polls && this.#isWorthIt ? start + POLLING_MS : start;
    let slow: ReturnType<typeof setInterval> | undefined;
    try {
      for (let now = start;; now = performance.now()) {
        if (now >= end) {
          slow ??= setInterval(whenSlow, SLOW_MS);
          await wait();
        } else libc().sched_yield(); // the other side may need this core
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
