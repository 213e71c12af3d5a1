/** Something native that several hold, such as the context of memory that outlives it: the last one releases it. */
export class Shared {
  readonly #release: () => void;
  #holders = 0;

  /** Nothing holds it yet. */
  constructor(release: () => void) {
    this.#release = release;
  }

  /** Holds it until the returned function is called, once. */
  hold(): () => void {
    this.#holders++;
    return this.#leave;
  }

  readonly #leave = (): void => {
    if (--this.#holders === 0) this.#release();
  };
}
