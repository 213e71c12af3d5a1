import { Fence } from "./fence.ts";
import type { Line, Use } from "./line.ts";
import type { Grant } from "../memory/grant.ts";
import { writes } from "../memory/access.ts";
import { ofArgument } from "../errors.ts";

/** Throws unless these uses are allowed. What failed on its way back, and is over, is thrown as well. */
export function assertUsable(uses: readonly Use[]): void {
  for (const { tensor, access, argument } of uses) {
    try {
      for (const { resource } of tensor.usable(access)) resource!.settleIfOver();
    } catch (error) {
      throw ofArgument(error, argument, argument);
    }
  }
}

/**
 * Visits the marks that conflict with these uses, over or not: a reader waits for writers, a writer for all. Bytes on their
 * way back are back once the work on them is over; where commands for that are not submitted yet, this thread waits.
 */
export function eachConflict(uses: readonly Use[], visit: (line: Line, mark: number) => void): void {
  for (const { tensor, access } of uses) {
    const writing = writes(access);
    for (const { resource } of tensor.usable(access)) {
      if (!resource!.awaitsWorkAlone) resource!.settle();
      resource!.work.eachBefore(writing, visit);
    }
    for (const work of tensor.works) work.eachBefore(writing, visit);
  }
}

export function revokeViews(uses: readonly Use[]): void {
  for (const { tensor, access } of uses) tensor.revokeViews(access);
}

/**
 * Prepares a blocking use by the CPU: checks the access, waits for the work in flight and for bytes on their way back, and
 * revokes the views that must not be used meanwhile.
 * @throws {DisposedError} if a resource was disposed.
 * @throws {AccessError} if the access is not allowed, or the wait could never end.
 */
export function readyForHost(uses: readonly Use[]): void {
  assertUsable(uses);
  eachConflict(uses, (line, mark) => line.block(mark));
  revokeViews(uses);
}

/** The work of one line on a resource. */
export interface WorkEntry {
  /** The line. */
  line: Line;
  /** Its newest mark. */
  mark: number;
  /** Its newest mark that wrote; 0 if none did. */
  wrote: number;
}

/** Above this many entries of other lines, finished ones are pruned. That takes native calls. */
const MANY = 8;

const NO_ERRORS: readonly unknown[] = [];

/**
 * The work in flight on one resource: the newest mark of each line, which stands for all earlier ones. Most resources see
 * one line. Its entry is inline, so that recording allocates nothing.
 */
export class Work {
  /** The grants of an owner with peers, which look for its work. */
  owners: readonly Grant[] | undefined;
  /** True if any was ever recorded, here or on a dependent. */
  used = false;
  /** The line that used it last, until its work is seen over. */
  line: Line | undefined;
  /** The work of other lines. */
  others: WorkEntry[] | undefined;
  #mark = 0;
  #wrote = 0;
  #failures = NO_ERRORS;
  /** Work that a writer waited for on the device. A semaphore does not report failures: the line is asked later. */
  #unsure: WorkEntry[] | undefined;

  /** True if a command of this line has nothing to wait for here. */
  isClearFor(line: Line): boolean {
    return (this.line === undefined || this.line === line) && this.others === undefined;
  }

  /** Records one more command, which waits for all conflicting ones. */
  record(line: Line, mark: number, writes: boolean): void {
    this.used = true;
    if (this.line !== line) this.#change(line);
    else if (line.hasFailed) this.#keepFailure(line, this.#mark);
    this.#mark = mark;
    if (!writes) return;
    this.#wrote = mark;
    if (this.others !== undefined && !line.mayFailEarly) this.#dropOthers(line);
  }

  /** Adds work that did not wait for the rest: declared by the program, or inherited. */
  add({ line, mark }: Fence, writes: boolean = true): void {
    const wrote = writes ? mark : 0;
    this.used = true;
    if (this.line === undefined) {
      this.line = line;
      this.#mark = mark;
      this.#wrote = wrote;
      if (this.owners !== undefined) this.#begin(this.owners);
      return;
    }
    if (this.line === line) {
      if (line.hasFailed) this.#keepFailure(line, this.#mark);
      this.#mark = Math.max(this.#mark, mark);
      this.#wrote = Math.max(this.#wrote, wrote);
      return;
    }
    const known = this.others?.find((entry) => entry.line === line);
    if (known === undefined) {
      if (this.others !== undefined && this.others.length >= MANY) this.#forgetOthers();
      return void (this.others ??= []).push({ line, mark, wrote });
    }
    if (line.hasFailed) this.#keepFailure(line, known.mark);
    known.mark = Math.max(known.mark, mark);
    known.wrote = Math.max(known.wrote, wrote);
  }

  /** Visits the marks that a reader (those that wrote) or a writer (all) waits for, over or not. */
  eachBefore(writes: boolean, visit: (line: Line, mark: number) => void): void {
    if (this.line === undefined) return;
    const mark = writes ? this.#mark : this.#wrote;
    if (mark > 0) visit(this.line, mark);
    for (const other of this.others ?? []) {
      const its = writes ? other.mark : other.wrote;
      if (its > 0) visit(other.line, its);
    }
  }

  /** The unfinished work, as fences. */
  get fences(): Fence[] {
    return this.fencesBefore(true);
  }

  /**
   * The work that a map waits for. The map's own commands may take the memory over, so even a map for reading waits for
   * commands that only read. It does not wait for other code that only reads, because that may never end.
   */
  fencesBefore(writes: boolean): Fence[] {
    this.forget();
    const fences: Fence[] = [];
    if (this.line === undefined) return fences;
    if (writes || this.#wrote > 0 || !this.line.isForeign) fences.push(new Fence(this.line, this.#mark));
    for (const { line, mark, wrote } of this.others ?? []) {
      if (writes || wrote > 0 || !line.isForeign) fences.push(new Fence(line, mark));
    }
    return fences;
  }

  /** The work to wait for next. Forgets finished work, and keeps its failures. */
  next(): Fence | undefined {
    this.forget();
    return this.line === undefined ? undefined : new Fence(this.line, this.#mark);
  }

  /** Forgets finished work. */
  forget(): void {
    if (this.others !== undefined) this.#forgetOthers();
    if (this.line === undefined || !this.#isOver(this.line, this.#mark)) return;
    this.#takeNext();
  }

  /** Gives up the work of a line that cannot be waited for. True if there was any. */
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

  /** False if {@link takeFailures} has none to return. */
  get mayHaveFailed(): boolean {
    return this.#failures !== NO_ERRORS || this.#unsure !== undefined;
  }

  /** Returns each failure once. */
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

  /** True if a mark is over. Keeps its failure. Work that cannot be polled counts as unfinished. */
  #isOver(line: Line, mark: number): boolean {
    try {
      if (!line.isSeenOver(mark)) return false;
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

  #begin(owners: readonly Grant[]): void {
    for (let i = 0; i < owners.length; i++) owners[i].beginWork();
  }

  /** Moves another line to the first place; it may be among the others. */
  #change(line: Line): void {
    const { line: last, others } = this;
    const [mark, wrote] = [this.#mark, this.#wrote];
    this.line = line;
    this.#wrote = 0;
    if (last === undefined) {
      if (this.owners !== undefined) this.#begin(this.owners);
      return;
    }
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
   * A writer has waited for all others, so no later use has to wait for them again. It fails with them, except for lines
   * of other drivers; and behind a line that had failed, it may not have waited at all. Those lines are asked later.
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
