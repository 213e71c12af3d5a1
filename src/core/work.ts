import type { Context } from "./context.ts";
import type { Fence } from "./fence.ts";

/** The work in flight on one resource, and what of it failed. It owns the fences. */
export class Work {
  /** Was any ever recorded, here or on what depended on this? */
  everUsed = false;
  /** What failed, until somebody takes it. */
  readonly failures: unknown[] = [];
  readonly #fences: Fence[] = [];
  /** How many there may be before those that are over are looked for. */
  #most = 16;

  /** The fences of what has not been seen over, oldest first. */
  get fences(): readonly Fence[] {
    return this.#fences;
  }

  /** One more; takes the fence over. To ask about others costs native calls: it is done ever more rarely. */
  record(fence: Fence): void {
    this.everUsed = true;
    if (this.#fences.length >= this.#most) {
      this.sweep();
      this.#most = Math.max(16, 2 * this.#fences.length);
    }
    this.#fences.push(fence);
  }

  /** Adds to `work` what is unfinished and does not belong to a line. */
  beside(line: object | undefined, work: Fence[]): void {
    for (let i = 0; i < this.#fences.length;) {
      const fence = this.#fences[i];
      if (line !== undefined && fence.line === line) i++;
      else if (!this.forgetIfOver(fence)) {
        work.push(fence);
        i++;
      }
    }
  }

  /** What has to be waited for next, newest first: later work is over last. */
  next(): Fence | undefined {
    let fence = this.#fences.at(-1);
    while (fence !== undefined && this.forgetIfOver(fence)) fence = this.#fences.at(-1);
    return fence;
  }

  /** What has to be waited for, of other contexts than this one. */
  nextForeignTo(context: Context): Fence | undefined {
    return this.#fences.filter((fence) => isForeign(fence, context)).find((fence) => !this.forgetIfOver(fence));
  }

  /** Is any of it unfinished? What failed is over. */
  get busy(): boolean {
    while (this.#fences.length > 0) if (!this.forgetIfOver(this.#fences[0])) return true;
    return false;
  }

  /** Forgets all that is over. */
  sweep(): void {
    for (const fence of [...this.#fences]) this.forgetIfOver(fence);
  }

  /** Lets go of a fence once it is reached, or failed: then its error is kept. Work that cannot be asked about goes on. */
  forgetIfOver(fence: Fence): boolean {
    try {
      if (!fence.reached()) return false;
    } catch (error) {
      if (!isOver(fence)) return false;
      this.failures.push(error);
    }
    this.forget(fence);
    return true;
  }

  /** Lets go of a fence. */
  forget(fence: Fence): void {
    const index = this.#fences.indexOf(fence);
    if (index < 0) return; // a fence's own code may have come here before
    this.#fences.splice(index, 1);
    try {
      fence[Symbol.dispose]();
    } catch (error) {
      this.failures.push(error);
    }
  }
}

/** A fence that cannot say so is not known to be over. */
function isOver(fence: Fence): boolean {
  try {
    return fence.over;
  } catch {
    return false;
  }
}

/** A fence that cannot say whose it is has to be waited for by the host. */
function isForeign(fence: Fence, context: Context): boolean {
  try {
    return fence.context !== context;
  } catch {
    return true;
  }
}
