/** Lets promises wait until something has changed. */
export class Changes {
  readonly #waiting: Set<() => void> = new Set();

  /** Wakes all who wait. */
  tell(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Waits for the next change. @throws the signal's reason, if it is aborted before. */
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
