export class Changes {
  readonly #waiting: Set<() => void> = new Set();

  /** Wakes all waiters. Returns false if no task waits. */
  wake(): boolean {
    for (const resolve of this.#waiting) resolve();
    return this.#waiting.size > 0;
  }

  async next(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => reject(signal!.reason);
    this.#waiting.add(resolve);
    signal?.addEventListener("abort", leave);
    try {
      await promise;
    } finally {
      this.#waiting.delete(resolve);
      signal?.removeEventListener("abort", leave);
    }
  }
}
