const sleeper = new Int32Array(new SharedArrayBuffer(4));

export function sleepSync(milliseconds: number): void {
  Atomics.wait(sleeper, 0, 0, milliseconds);
}

/** Resolves in the next turn of the event loop, in which timers and other promises have had theirs. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/** How long nothing may move before a warning names who holds the frames. */
export const SLOW_MS = 5000;

const MOST = 64;

/** Milliseconds after which a turn is due, however few were taken: the program may work for long on each. */
const MAX_MS = 5;

/** Where the event loop always has something to do, Deno asks for what has come by sockets once in so many turns. */
const TURNS_TO_SOCKETS = 61;

/** Milliseconds after which sockets are due. */
const SOCKETS_MS = 250;

/** Lets the event loop turn where another process sends so fast that no call ever waits, and timers would never run. */
export class Pace {
  #taken = 0;
  #turned: number | undefined;
  #asked: number | undefined;

  /** Counts one more. Returns the turn that has to come first; undefined if none has to. */
  next(): Promise<void> | undefined {
    const now = performance.now();
    this.#asked ??= now;
    if (++this.#taken <= MOST && now - (this.#turned ??= now) < MAX_MS) return undefined;
    this.#taken = 0;
    this.#turned = now;
    if (now - this.#asked < SOCKETS_MS) return nextTurn();
    this.#asked = now;
    return manyTurns();
  }
}

async function manyTurns(): Promise<void> {
  for (let i = 0; i < TURNS_TO_SOCKETS; i++) await nextTurn();
}
