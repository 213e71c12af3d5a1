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

/** Lets the event loop turn where another process sends so fast that no call ever waits, and timers would never run. */
export class Pace {
  #taken = 0;

  /** Counts one more. Returns the turn that has to come first; undefined if none has to. */
  next(): Promise<void> | undefined {
    if (++this.#taken <= MOST) return undefined;
    this.#taken = 0;
    return nextTurn();
  }
}
