/** Lets asynchronous actions run one after the other, in the order in which they were asked for. */
export class Turns {
  #busy = false;
  readonly #waiting: (() => void)[] = [];

  /** Is an action running? */
  get isBusy(): boolean {
    return this.#busy;
  }

  /** Runs an action when it is its turn. @throws the signal's reason, if it is aborted before. */
  async run<T>(action: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.#busy) await this.#turn(signal);
    this.#busy = true;
    try {
      return await action();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#busy = false;
      else next();
    }
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        reject(signal!.reason);
      };
      this.#waiting.push(begin);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }
}
