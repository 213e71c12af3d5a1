import { nextTurn } from "../pace.ts";

/** So long it is asked again and again, in milliseconds: whoever answers is busy, and does so within microseconds. */
const BUSY_MS = 2;

/** Then it is asked so often, in milliseconds. */
const IDLE_MS = 1;

/**
 * Asks until there is an answer, for what no driver tells by itself. The event loop goes on between two questions: first they
 * come as fast as it turns, some 3 µs apart, then a millisecond apart.
 *
 * @param ask answers undefined for as long as there is nothing yet; it may throw
 * @throws what `ask` throws.
 */
export async function asked<T>(ask: () => T | undefined): Promise<T> {
  const busyUntil = performance.now() + BUSY_MS;
  for (;;) {
    const answer = ask();
    if (answer !== undefined) return answer;
    if (performance.now() < busyUntil) await nextTurn();
    else await new Promise<void>((resolve) => void setTimeout(resolve, IDLE_MS));
  }
}
