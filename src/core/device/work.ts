import { Fence } from "./fence.ts";
import type { Line } from "./line.ts";

/** What one line did to a resource: its newest mark, and the newest that wrote (0: none did). */
export interface WorkEntry {
  /** The line. */
  line: Line;
  /** Its newest mark. */
  mark: number;
  /** The newest that wrote. */
  wrote: number;
}

/** How many entries of other lines there may be before those that are over are looked for: that takes native calls. */
const MANY = 8;

const NO_ERRORS: readonly unknown[] = [];

/**
 * The work in flight on one resource: for each line the newest mark, which stands for all before it. Most resources see
 * one line. Its entry lies here, so that to record once more allocates nothing.
 */
export class Work {
  /** Was any ever recorded, here or on what depended on this? */
  used = false;
  /** The line that used it last, unless that was seen over. */
  line: Line | undefined;
  /** What other lines did. */
  others: WorkEntry[] | undefined;
  #mark = 0;
  #wrote = 0;
  #failures = NO_ERRORS;
  /** Work that a writer waited for on the device. A semaphore says that work ended, and not how: the line is asked later. */
  #unsure: WorkEntry[] | undefined;

  /** Records one more command, which has waited for all that it had to wait for. */
  record(line: Line, mark: number, writes: boolean): void {
    this.used = true;
    if (this.line !== line) this.#change(line);
    else if (line.hasFailed) this.#keepFailure(line, this.#mark);
    this.#mark = mark;
    if (!writes) return;
    this.#wrote = mark;
    if (this.others !== undefined && !line.mayFailEarly) this.#dropOthers(line);
  }

  /** Adds work that did not wait for the rest: a program declares it, or it is inherited. */
  add({ line, mark }: Fence): void {
    this.used = true;
    if (this.line === undefined) {
      this.line = line;
      this.#mark = this.#wrote = mark;
      return;
    }
    if (this.line === line) {
      if (line.hasFailed) this.#keepFailure(line, this.#mark);
      this.#mark = Math.max(this.#mark, mark);
      this.#wrote = Math.max(this.#wrote, mark);
      return;
    }
    const known = this.others?.find((entry) => entry.line === line);
    if (known === undefined) return void (this.others ??= []).push({ line, mark, wrote: mark });
    if (line.hasFailed) this.#keepFailure(line, known.mark);
    known.mark = Math.max(known.mark, mark);
    known.wrote = Math.max(known.wrote, mark);
  }

  /** The marks that a reader has to wait for (those that wrote), or a writer (all), over or not. */
  eachBefore(writes: boolean, visit: (line: Line, mark: number) => void): void {
    if (this.line === undefined) return;
    const mark = writes ? this.#mark : this.#wrote;
    if (mark > 0) visit(this.line, mark);
    for (const other of this.others ?? []) {
      const its = writes ? other.mark : other.wrote;
      if (its > 0) visit(other.line, its);
    }
  }

  /** The work that was not seen over, as fences. */
  get fences(): Fence[] {
    this.forget();
    if (this.line === undefined) return [];
    const fences = [new Fence(this.line, this.#mark)];
    for (const { line, mark } of this.others ?? []) fences.push(new Fence(line, mark));
    return fences;
  }

  /** What has to be waited for next; what is over is forgotten, and its failure kept. */
  next(): Fence | undefined {
    this.forget();
    return this.line === undefined ? undefined : new Fence(this.line, this.#mark);
  }

  /** Forgets what is over. */
  forget(): void {
    if (this.others !== undefined) this.#forgetOthers();
    if (this.line === undefined || !this.#isOver(this.line, this.#mark)) return;
    this.#takeNext();
  }

  /** Gives up the work of a line that can be waited for no more. */
  abandon(line: Line): boolean {
    const before = this.others?.length ?? 0;
    this.others = this.others?.filter((entry) => entry.line !== line);
    let found = (this.others?.length ?? 0) < before;
    if (this.others?.length === 0) this.others = undefined;
    if (this.line === line) {
      found = true;
      this.#takeNext();
    }
    return found;
  }

  /** Hands out, once, what failed. */
  takeFailures(): readonly unknown[] {
    if (this.#unsure !== undefined) this.#ask();
    const failures = this.#failures;
    this.#failures = NO_ERRORS;
    return failures;
  }

  #takeNext(): void {
    const next = this.others?.pop();
    if (this.others?.length === 0) this.others = undefined;
    this.line = next?.line;
    this.#mark = next?.mark ?? 0;
    this.#wrote = next?.wrote ?? 0;
  }

  #forgetOthers(): void {
    const left = this.others!.filter(({ line, mark }) => !this.#isOver(line, mark));
    this.others = left.length === 0 ? undefined : left;
  }

  /** Is it over, done or failed? A failure is kept. Work that cannot be asked about goes on. */
  #isOver(line: Line, mark: number): boolean {
    try {
      if (!line.isOver(mark)) return false;
    } catch (error) {
      if (!line.wasOver(mark)) return false;
      this.#keep(error);
    }
    if (line.hasFailed) this.#keepFailure(line, mark);
    return true;
  }

  #keepFailure(line: Line, mark: number): void {
    const failure = line.failureAt(mark);
    if (failure !== undefined) this.#keep(failure.error);
  }

  #keep(error: unknown): void {
    if (!this.#failures.includes(error)) this.#failures = [...this.#failures, error];
  }

  /** Another line comes first from now on. Where it was here before, the two change places. */
  #change(line: Line): void {
    const { line: last, others } = this;
    const [mark, wrote] = [this.#mark, this.#wrote];
    this.line = line;
    this.#wrote = 0;
    if (last === undefined) return;
    const known = others?.find((entry) => entry.line === line);
    if (known !== undefined) {
      if (line.hasFailed) this.#keepFailure(line, known.mark);
      this.#wrote = known.wrote;
      known.line = last;
      known.mark = mark;
      known.wrote = wrote;
      return;
    }
    if (others !== undefined && others.length >= MANY) this.#forgetOthers();
    (this.others ??= []).push({ line: last, mark, wrote });
  }

  /**
   * A writer has waited for all others: nobody has to again. What they fail with, it fails with too, but for the lines of
   * other drivers; and where a failure was seen already, it may have waited for nothing. Those are asked later.
   */
  #dropOthers(line: Line): void {
    for (const other of this.others!) {
      const isSure = line.standsFor(other.line) && !line.hasFailed && !other.line.hasFailed;
      if (!isSure) (this.#unsure ??= []).push(other);
    }
    this.others = undefined;
    if (this.#unsure !== undefined && this.#unsure.length >= MANY) this.#ask();
  }

  #ask(): void {
    this.#unsure = this.#unsure!.filter(({ line, mark }) => !this.#isOver(line, mark));
    if (this.#unsure.length === 0) this.#unsure = undefined;
  }
}
