import { warn } from "../errors.ts";
import { libc } from "../native/libc.ts";
import { nextTurn, sleepSync } from "../pace.ts";

/** Milliseconds for which it is asked as fast as the event loop turns: a busy side reports within microseconds. */
const BUSY_MS = 2;

/** Then it is asked at this interval, in milliseconds. */
const IDLE_MS = 1;

/** Until the next question: a turn of the event loop, some 3 µs, or a millisecond once the busy time is over. */
export function pause(busyUntil: number, keepsAlive = true): Promise<void> {
  if (performance.now() < busyUntil) {
    libc().sched_yield(); // the busy side may be another thread on this core
    return nextTurn();
  }
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, IDLE_MS);
    if (!keepsAlive) Deno.unrefTimer(timer);
  });
}

/**
 * Asks until there is a result, for what no driver reports by itself. The event loop goes on between two questions: first
 * they come as fast as it turns, then a millisecond apart.
 * @param ask returns undefined until it has a result
 * @throws what `ask` throws.
 */
export async function asked<T>(ask: () => T | undefined): Promise<T> {
  const busyUntil = performance.now() + BUSY_MS;
  for (;;) {
    const result = ask();
    if (result !== undefined) return result;
    await pause(busyUntil);
  }
}

interface Waiting {
  isOver(): boolean;
  resolve(): void;
  reject(error: unknown): void;
}

/** One timer asks about all waits, of which there may be thousands. */
class Polling {
  readonly #keepsAlive: boolean;
  readonly #waiting = new Set<Waiting>();
  /** Until then, all are polled as fast as the event loop turns. */
  #busyUntil = 0;
  #isAsking = false;

  constructor(keepsAlive: boolean) {
    this.#keepsAlive = keepsAlive;
  }

  wait(isOver: () => boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.add({ isOver, resolve, reject });
    this.#busyUntil = performance.now() + BUSY_MS;
    if (!this.#isAsking) void this.#askWhileAnyWaits();
    return promise;
  }

  async #askWhileAnyWaits(): Promise<void> {
    this.#isAsking = true;
    while (this.#waiting.size > 0) {
      for (const one of this.#waiting) this.#askAbout(one);
      await pause(this.#busyUntil, this.#keepsAlive);
    }
    this.#isAsking = false;
  }

  #askAbout(one: Waiting): void {
    try {
      if (!one.isOver()) return;
      one.resolve();
    } catch (error) {
      one.reject(error);
    }
    this.#waiting.delete(one);
  }
}

const awaited = new Polling(true);
const aside = new Polling(false);

/** Asks until it is over. @throws what `isOver` throws. */
export function polled(isOver: () => boolean): Promise<void> {
  return awaited.wait(isOver);
}

/** The same for what the program itself may never wait for: it does not keep the process alive. */
export function polledAside(isOver: () => boolean): Promise<void> {
  return aside.wait(isOver);
}

/** Between two questions of a wait that blocks, in milliseconds. */
const PAUSE_MS = 0.1;

/** A wait that blocks for longer says so, in milliseconds: it may be the program itself that has to end it. */
const LONG_MS = 2_000;

/** What a wait that blocks does between two questions: it sleeps for a moment, and warns once it has lasted for seconds. */
export function blockingPause(name: string): () => void {
  let waited = 0;
  return () => {
    const [before, wasLong] = [performance.now(), waited > LONG_MS];
    sleepSync(PAUSE_MS);
    waited += performance.now() - before;
    if (wasLong || waited <= LONG_MS) return;
    warn(
      `this thread has been waiting for ${name} for seconds. If the program itself has to end that, it never will: ` +
        "await the fence, or write `await using`.",
    );
  };
}
