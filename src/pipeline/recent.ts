/** For how many kinds of frames a stage keeps what it has made. */
const MOST_KINDS = 4;

/** What a stage has made for each kind of frame. Every kind that ever came would fill the memory: those used last stay. */
export class Recent<T> {
  readonly #isIdle: (one: T) => boolean;
  readonly #end: (one: T) => void;
  #all: readonly T[] = [];

  /** `end` gives one back, which is idle. */
  constructor(isIdle: (one: T) => boolean, end: (one: T) => void) {
    [this.#isIdle, this.#end] = [isIdle, end];
  }

  find(fits: (one: T) => boolean): T | undefined {
    return this.#all.find(fits);
  }

  /** Notes that one is used, which may be new. */
  use(one: T): void {
    this.#all = [...this.#all.filter((other) => other !== one), one];
    const ended = this.#all.slice(0, -MOST_KINDS).filter(this.#isIdle);
    this.#all = this.#all.filter((other) => !ended.includes(other));
    ended.forEach(this.#end);
  }

  /** Takes all of them out. */
  clear(): readonly T[] {
    const all = this.#all;
    this.#all = [];
    return all;
  }
}
