/** What one stage has done and the next has not begun. */
export class Queue<T> implements AsyncIterable<T, void> {
  /** True once nothing is taken out of it any more: what is pushed then, is left to whoever pushes. */
  isClosed = false;
  #items: T[] = [];
  #isEnded = false;
  #wake: (() => void) | undefined;

  /** How many wait. */
  get length(): number {
    return this.#items.length;
  }

  /** Adds one. */
  push(item: T): void {
    this.#items.push(item);
    this.#wake?.();
  }

  /** Nothing more comes. */
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  /** Nothing more is taken out. Returns what is left. */
  close(): readonly T[] {
    const left = this.#items;
    this.#items = [];
    this.isClosed = true;
    this.end();
    return left;
  }

  /** Takes what comes, until the end. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void> {
    while (true) {
      const item = this.#items.shift();
      if (item !== undefined) yield item;
      else if (this.#isEnded) return;
      else await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }
}
