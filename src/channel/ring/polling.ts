import { libc } from "../../core/native/libc.ts";

/** Milliseconds of polling before a wait off the thread, which takes about as long, and would slow a busy ring down. */
const POLLING_MS = 0.2;

/** After a wait that took longer, the next is not polled for: the other side is in no hurry. */
const LONG_MS = 2;

/** A process that has released nothing for so long, while the other side waits, is named in a warning. */
export const SLOW_MS = 5000;

/** Waits for the other side of a ring: at once where it is busy, and without work where it is not. */
export class Polling {
  #isWorthIt = true;

  /**
   * Asks again until there is a result; `wait` resolves when it is time to. A caller that has not asked yet asks before.
   * `polls` is false where this program itself is waited for, which can do nothing while it asks again and again.
   * `whenSlow` is called whenever the wait has taken {@link SLOW_MS} more.
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
