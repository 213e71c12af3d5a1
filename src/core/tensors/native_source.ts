import { InteropError } from "../errors.ts";
import { NativeObject } from "../life/native_object.ts";

/**
 * What native code makes one after the other, as a program's loop takes it: one is made ahead, while the loop works on the one
 * before. The end of the loop ends the source. For backends.
 */
export abstract class NativeSource<N, F> extends NativeObject implements AsyncIterable<F, void> {
  #isTaken = false;

  /** Where another loop finds what this one has: `["ffmpeg", "Call ffmpeg.decode() again."]`. */
  protected abstract readonly again: readonly [api: string, hint: string];

  /** Called before the first: opens what is read. */
  protected abstract begin(): Promise<unknown>;

  /** Makes the next; undefined at the end. */
  protected abstract next(): Promise<N | undefined>;

  /** What the loop gets for the one of this number, which is its own from then on. */
  protected abstract give(made: N, count: number): F;

  /**
   * Takes the frames. Each is yours: dispose it.
   *
   * @throws {InteropError} for a second loop.
   */
  [Symbol.asyncIterator](): AsyncGenerator<F, void> {
    if (this.#isTaken) {
      const [api, hint] = this.again;
      throw new InteropError(`${this.resource.name}: its frames were taken by another loop.`, { api, hint });
    }
    this.#isTaken = true;
    return this.#each();
  }

  async *#each(): AsyncGenerator<F, void> {
    try {
      await this.begin();
      let next = this.next();
      for (let count = 0;; count++) {
        const made = await next;
        if (made === undefined) return;
        next = this.next();
        next.catch(() => {}); // the loop throws it, once it comes so far
        yield this.give(made, count);
      }
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }
}
