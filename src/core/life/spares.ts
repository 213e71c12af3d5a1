const MOST = 32;

/** Native objects that are used again: to make one takes longer than to use it. */
export class Spares<T> {
  readonly #spares: T[] = [];
  readonly #make: () => T;
  readonly #clear: (object: T) => void;
  readonly #end: (object: T) => void;
  /** How many it keeps: none once {@link Spares.free} was called. What comes back later is freed. */
  #most = MOST;

  /** @param clear makes one that was used as good as new. @param end frees one */
  constructor(make: () => T, clear: (object: T) => void, end: (object: T) => void) {
    [this.#make, this.#clear, this.#end] = [make, clear, end];
  }

  /** One that is as good as new. */
  take(): T {
    return this.#spares.pop() ?? this.#make();
  }

  /** Keeps one for later, or frees it. */
  give(object: T): void {
    if (this.#spares.length < this.#most) this.#clear(object);
    this.giveCleared(object);
  }

  /** The same where it is as good as new already. */
  giveCleared(object: T): void {
    if (this.#spares.length >= this.#most) this.#end(object);
    else this.#spares.push(object);
  }

  /** Frees those that are kept: its owner ends. */
  free(): void {
    this.#most = 0;
    for (const object of this.#spares.splice(0)) this.#end(object);
  }
}
