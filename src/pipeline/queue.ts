/** What one stage has done and the next has not begun. */
export class Queue<T> implements AsyncIterable<T, void> {
  /** True once nothing more is taken out of it: the caller of `push` keeps what it pushes then. */
  isClosed = false;
  #items: T[] = [];
  #isEnded = false;
  #wake: (() => void) | undefined;

  #emptied: (() => void) | undefined;

  /** Adds one. */
  push(item: T): void {
    this.#items.push(item);
    this.#wake?.();
  }

  /** Resolves once all was taken out, or nothing more will be. */
  async taken(): Promise<void> {
    while (this.#items.length > 0) await new Promise<void>((resolve) => this.#emptied = resolve);
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
    this.#emptied?.();
    this.end();
    return left;
  }

  /** Takes what comes, until the end. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void> {
    while (true) {
      const item = this.#items.shift();
      if (item !== undefined) {
        this.#emptied?.();
        yield item;
      } else if (this.#isEnded) return;
      else await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }
}
