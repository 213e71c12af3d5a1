/** What one stage has finished and the next has not begun. */
export class Queue<T> implements AsyncIterable<T, void> {
  /** True once nothing more is taken out of it. A caller must not push then, but keep its item. */
  isClosed = false;
  #items: T[] = [];
  #isEnded = false;
  #wake: (() => void) | undefined;

  #emptied: (() => void) | undefined;

  /** Adds an item. */
  push(item: T): void {
    this.#items.push(item);
    this.#wake?.();
  }

  /** Resolves once everything was taken out, or nothing more will be. */
  async taken(): Promise<void> {
    while (this.#items.length > 0) await new Promise<void>((resolve) => this.#emptied = resolve);
  }

  /** Marks the end: nothing more is pushed. */
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  /** Stops the reader, and returns what is left. */
  close(): readonly T[] {
    const left = this.#items;
    this.#items = [];
    this.isClosed = true;
    this.#emptied?.();
    this.end();
    return left;
  }

  /** Takes the items, until the end. */
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
