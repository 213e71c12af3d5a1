import type { Context } from "../graph/context.ts";
import type { Fence } from "./fence.ts";

/** How many fences of a line there may be before those that are over are looked for. */
const FEW = 256;

/** Fences of one line of work, oldest first: the last is reached after all others, unless they are `unordered`. */
interface Line {
  readonly line: object;
  /**
   * Do they keep no order here? Those that a program declares need not stand where they say, and those that are inherited
   * come from several resources, in any order.
   */
  readonly unordered: boolean;
  readonly fences: Fence[];
  /** How many there may be before those that are over are looked for: that takes native calls. */
  most: number;
}

const NONE: readonly unknown[] = [];
const NO_LINES: Line[] = [];
const NO_FENCES: readonly Fence[] = [];

/** The work in flight on one resource, and what of it failed. It owns the fences. */
export class Work {
  /** Was any ever recorded, here or on what depended on this? */
  everUsed = false;
  #failures: readonly unknown[] = NONE;
  #lines: Line[] = NO_LINES;
  #mostLines = FEW;

  /** The fences of what has not been seen over. */
  get fences(): readonly Fence[] {
    if (this.#lines.length === 0) return NO_FENCES;
    return this.#lines.length === 1 ? this.#lines[0].fences : this.#lines.flatMap(({ fences }) => fences);
  }

  /** Hands out, once, what failed. */
  takeFailures(): readonly unknown[] {
    const failures = this.#failures;
    this.#failures = NONE;
    return failures;
  }

  /**
   * One more of ours; takes the fence over. No code of the program's runs: what was submitted is not recorded everywhere
   * yet. What is over is looked for by {@link beside}, which whoever submits asks first.
   */
  record(fence: Fence): void {
    const { fences } = this.#lineOf(fence, false);
    const earlier = fences.at(-1);
    if (earlier === undefined || !supersedes(fence, earlier)) return void fences.push(fence);
    fences[fences.length - 1] = fence;
    this.#letGo(earlier);
  }

  /** One more that a program declares, or that is inherited: it takes no other's place. Takes the fence over. */
  addUnordered(fence: Fence): void {
    this.#tidy();
    this.#lineOf(fence, true).fences.push(fence);
  }

  /**
   * Adds to `work` what a command in the line `own` has to wait for: the last of every other line, and all that keeps no
   * order, in whichever line that stands. Of those, drivers leave out what really stands in their own.
   */
  beside(own: object | undefined, work: Fence[]): void {
    const lines = this.#lines;
    // Most resources see one line, and few fences of it.
    if (lines.length === 1 && isOwn(lines[0], own) && lines[0].fences.length < lines[0].most) return;
    this.#tidy();
    for (let i = this.#lines.length - 1; i >= 0; i--) {
      const other = this.#lines[i]; // a fence's own code may have taken it away
      if (other === undefined || isOwn(other, own)) continue;
      if (other.unordered) work.push(...[...other.fences].filter((fence) => !this.forgetIfOver(fence)));
      else {
        const last = this.#unfinished(other);
        if (last !== undefined) work.push(last);
      }
    }
  }

  /** What has to be waited for next. */
  next(): Fence | undefined {
    for (let line = this.#lines.at(-1); line !== undefined; line = this.#lines.at(-1)) {
      const last = this.#unfinished(line);
      if (last !== undefined) return last;
      this.#drop(line);
    }
    return undefined;
  }

  /** What has to be waited for, of other contexts than this one. */
  nextForeignTo(context: Context): Fence | undefined {
    if (this.#lines.length === 0) return undefined;
    return this.fences.filter((fence) => isForeign(fence, context)).find((fence) => !this.forgetIfOver(fence));
  }

  /** Forgets all that is over. */
  sweep(): void {
    for (const fence of [...this.fences]) this.forgetIfOver(fence);
  }

  /** Lets go of a fence once it is reached, or failed: then its error is kept. Work that cannot be asked about goes on. */
  forgetIfOver(fence: Fence): boolean {
    if (!this.#isOver(fence)) return false;
    this.forget(fence);
    return true;
  }

  /** Lets go of a fence. */
  forget(fence: Fence): void {
    const line = this.#lines.find(({ fences }) => fences.includes(fence));
    if (line === undefined) return; // a fence's own code may have come here before
    line.fences.splice(line.fences.indexOf(fence), 1);
    this.#letGo(fence);
  }

  /** Is it reached, or failed? A failure is kept. */
  #isOver(fence: Fence): boolean {
    try {
      return fence.reached();
    } catch (error) {
      if (!isOver(fence)) return false;
      this.#failures = [...this.#failures, error];
      return true;
    }
  }

  #letGo(fence: Fence): void {
    try {
      fence[Symbol.dispose]();
    } catch (error) {
      this.#failures = [...this.#failures, error];
    }
  }

  /** The last fence of a line that is not over; those behind it are seen over first. */
  #unfinished({ fences }: Line): Fence | undefined {
    let last = fences.at(-1);
    while (last !== undefined && this.forgetIfOver(last)) last = fences.at(-1);
    return last;
  }

  /** Lets go of the oldest that are over, all at once: a line may be long. */
  #forgetOldest({ fences }: Line): void {
    const over: Fence[] = [];
    for (let fence = fences[0]; fence !== undefined && this.#isOver(fence); fence = fences[over.length]) {
      over.push(fence);
    }
    // Unless a fence's own code has changed the line meanwhile.
    if (over.every((fence, i) => fences[i] === fence)) fences.splice(0, over.length);
    for (const fence of over) this.#letGo(fence);
  }

  #lineOf(fence: Fence, unordered: boolean): Line {
    this.everUsed = true;
    const line = lineOf(fence);
    for (let i = this.#lines.length - 1; i >= 0; i--) {
      const known = this.#lines[i];
      if (known.line === line && known.unordered === unordered) return known;
    }
    const added = { line, unordered, fences: [], most: FEW };
    if (this.#lines.length === 0) this.#lines = [added]; // most resources see one line, or none
    else this.#lines.push(added);
    return added;
  }

  /** Forgets what is over where there is much of it. */
  #tidy(): void {
    if (this.#lines.length >= this.#mostLines) this.#forgetEmpty();
    for (let i = this.#lines.length - 1; i >= 0; i--) {
      const line = this.#lines[i]; // a fence's own code may have taken it away
      if (line === undefined || line.fences.length < line.most) continue;
      this.#forgetOldest(line);
      line.most = Math.max(FEW, 2 * line.fences.length);
    }
  }

  #drop(line: Line): void {
    const index = this.#lines.indexOf(line);
    if (index >= 0) this.#lines.splice(index, 1);
  }

  #forgetEmpty(): void {
    for (let i = this.#lines.length - 1; i >= 0; i--) {
      const line = this.#lines[i];
      if (line !== undefined && this.#unfinished(line) === undefined) this.#drop(line);
    }
    this.#mostLines = Math.max(FEW, 2 * this.#lines.length);
  }
}

/** Does the line itself keep a command in `own` behind these fences? */
function isOwn({ line, unordered }: Line, own: object | undefined): boolean {
  return line === own && !unordered;
}

/** A fence that cannot say so stands in a line of its own. */
function lineOf(fence: Fence): object {
  try {
    return fence.line;
  } catch {
    return fence;
  }
}

/** A fence that cannot say so leaves the earlier one where it is. */
function supersedes(fence: Fence, earlier: Fence): boolean {
  try {
    return fence.supersedes(earlier);
  } catch {
    return false;
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
