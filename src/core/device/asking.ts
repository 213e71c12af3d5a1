import { warn } from "../errors.ts";
import { nextTurn, sleepSync } from "../pace.ts";

/** Milliseconds for which it is asked as fast as the event loop turns: a busy side reports within microseconds. */
const BUSY_MS = 2;

/** Then it is asked at this interval, in milliseconds. */
const IDLE_MS = 1;

/** Until the next question: a turn of the event loop, some 3 µs, or a millisecond once the busy time is over. */
function pause(busyUntil: number): Promise<void> {
  if (performance.now() < busyUntil) return nextTurn();
  return new Promise((resolve) => void setTimeout(resolve, IDLE_MS));
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

const waiting = new Set<Waiting>();
/** From the newest wait on, all are asked about as fast as the event loop turns. */
let busyUntil = 0;
let isAsking = false;

/** One timer asks about all waits, of which there may be thousands. @throws what `isOver` throws. */
export function polled(isOver: () => boolean): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  waiting.add({ isOver, resolve, reject });
  busyUntil = performance.now() + BUSY_MS;
  if (!isAsking) void askWhileAnyWaits();
  return promise;
}

async function askWhileAnyWaits(): Promise<void> {
  isAsking = true;
  while (waiting.size > 0) {
    for (const one of waiting) askAbout(one);
    await pause(busyUntil);
  }
  isAsking = false;
}

function askAbout(one: Waiting): void {
  try {
    if (!one.isOver()) return;
    one.resolve();
  } catch (error) {
    one.reject(error);
  }
  waiting.delete(one);
}

/** Between two questions of a wait that blocks, in milliseconds. */
const PAUSE_MS = 0.1;

/** A wait that blocks for longer than so many pauses says so: it may be the program itself that has to end it. */
const MOST_PAUSES = 20_000;

/** What a wait that blocks does between two questions: it sleeps for a moment, and warns once it has lasted for seconds. */
export function blockingPause(name: string): () => void {
  let pauses = 0;
  return () => {
    sleepSync(PAUSE_MS);
    if (++pauses !== MOST_PAUSES) return;
    warn(
      `this thread has been waiting for ${name} for seconds. If the program itself has to end that, it never will: ` +
        "await the fence, or write `await using`.",
    );
  };
}
