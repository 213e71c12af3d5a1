import { InteropError } from "../errors.ts";
import type { NativeObject } from "../life/native_object.ts";

/** What a {@link NativeSource} is made of. */
export interface NativeSourceInit<N, F> {
  /** What the program holds. It ends with the loop. */
  readonly source: NativeObject;
  /** The API, and where another loop finds the same: `["ffmpeg", "Call ffmpeg.decode() again."]`. */
  readonly again: readonly [api: string, hint: string];
  /** Called before the first: opens what is read. */
  begin(): Promise<unknown>;
  /** Makes the next; undefined at the end. */
  next(): Promise<N | undefined>;
  /** What the loop gets for the one of this number. It is the loop's own from then on. */
  give(made: N, count: number): F;
}

/**
 * The frames that native code makes one after the other, as a program's loop takes them: one is made ahead, while the loop
 * works on the one before. For backends.
 */
export class NativeSource<N, F> {
  readonly #init: NativeSourceInit<N, F>;
  #isTaken = false;

  constructor(init: NativeSourceInit<N, F>) {
    this.#init = init;
  }

  /** All of them, for one loop. @throws {InteropError} for a second one. */
  each(): AsyncGenerator<F, void> {
    const { source: { resource: { name } }, again: [api, hint] } = this.#init;
    if (this.#isTaken) throw new InteropError(`${name}: its frames were taken by another loop.`, { api, hint });
    this.#isTaken = true;
    const frames = this.#each();
    void frames.next(); // up to its first yield: one that was not begun would end without its `finally`
    return frames;
  }

  async *#each(): AsyncGenerator<F, void> {
    const { source } = this.#init;
    try {
      yield undefined as F;
      await this.#init.begin();
      let next = this.#init.next();
      for (let count = 0;; count++) {
        const made = await next;
        if (made === undefined) return;
        next = this.#init.next();
        next.catch(() => {}); // the loop throws it when it gets there
        yield this.#init.give(made, count);
      }
    } finally {
      await source[Symbol.asyncDispose]();
    }
  }
}
