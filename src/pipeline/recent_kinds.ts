/** How many kinds of frames a stage keeps things for. */
const MAX_KINDS = 4;

/** What a stage has made for the kinds of frames that it used last. To keep it for every kind would fill the memory. */
export class RecentKinds<T> {
  readonly #isIdle: (one: T) => boolean;
  readonly #end: (one: T) => void;
  #all: readonly T[] = [];

  /** `end` is called for an idle one that is dropped. */
  constructor(isIdle: (one: T) => boolean, end: (one: T) => void) {
    [this.#isIdle, this.#end] = [isIdle, end];
  }

  find(fits: (one: T) => boolean): T | undefined {
    return this.#all.find(fits);
  }

  /** Makes this one, which may be new, the last used. */
  use(one: T): void {
    this.#all = [...this.#all.filter((other) => other !== one), one];
    const ended = this.#all.slice(0, -MAX_KINDS).filter(this.#isIdle);
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
