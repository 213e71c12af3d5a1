import { nextTurn } from "../pace.ts";

/** After the newest wait began, all are asked about as fast as the event loop turns, for so long, in milliseconds. */
const BUSY_MS = 2;

/** Then so often, in milliseconds. */
const IDLE_MS = 1;

/** A wait for what no driver reports. */
interface Waiting {
  isOver(): boolean;
  resolve(): void;
  reject(error: unknown): void;
}

const waiting = new Set<Waiting>();
let busyUntil = 0;
let isAsking = false;

/**
 * Waits for what no native call waits for. However many such waits there are, one timer asks about all of them.
 *
 * @throws what `isOver` throws.
 */
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
    if (performance.now() < busyUntil) await nextTurn();
    else await new Promise<void>((resolve) => void setTimeout(resolve, IDLE_MS));
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
