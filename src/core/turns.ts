interface Waiting {
  readonly begin: () => void;
  before: Waiting | undefined;
  next: Waiting | undefined;
}

/** Lets asynchronous actions run one after the other, in the order in which they were asked for. */
export class Turns {
  #busy = false;
  #first: Waiting | undefined;
  #last: Waiting | undefined;

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
      const first = this.#first;
      if (first === undefined) this.#busy = false;
      else {
        this.#leave(first);
        first.begin();
      }
    }
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const one: Waiting = { begin, before: this.#last, next: undefined };
      const leave = () => {
        this.#leave(one);
        reject(signal!.reason);
      };
      if (this.#last === undefined) this.#first = one;
      else this.#last.next = one;
      this.#last = one;
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  /** Takes one out of the line: an array would move all who stand behind it. */
  #leave({ before, next }: Waiting): void {
    if (before === undefined) this.#first = next;
    else before.next = next;
    if (next === undefined) this.#last = before;
    else next.before = before;
  }
}
