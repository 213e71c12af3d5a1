import type { Address } from "../../../ffi/address.ts";
import { polledAside } from "../device/asking.ts";
import type { Line } from "../device/line.ts";
import { Signal } from "../device/native_flag.ts";
import type { Work } from "../device/work.ts";
import { messageOf, warn } from "../errors.ts";
import { Resource } from "../life/resource.ts";
import { allOrNothing, shortList, type Undo, undoAll, undone } from "../life/undo.ts";
import { type Access, writes } from "../memory/access.ts";
import type { DescribedPlane } from "./described.ts";
import { lentBy, type Mapped } from "./mapped.ts";

/** What lies in one block of memory that native code gets, and the function by which it gives its reference back. */
export interface LoanedBlock {
  /** Where its planes lie: no tensors are made of them. */
  readonly planes: readonly DescribedPlane[];
  /** The C function that is called once the native code no longer needs the block. */
  readonly callback: Address;
  /** Its first argument, which no other loan has. */
  readonly data: Address;
}

export interface Loan<R> {
  readonly object: R;
  /** One for each block: set once native code needs it no more. The caller ends them. */
  readonly flags: readonly Signal[];
}

const NONE_LENT: readonly Signal[] = [];

/**
 * Memory that one library has references to, and keeps for as long as it likes, on its own threads: its encoders, filters
 * and consumers. For backends.
 */
export class NativeLoans {
  readonly #library: string;
  /** The blocks of objects that programs got, which may not be back yet. */
  #lent: readonly Signal[] = NONE_LENT;

  /** @param library who has the references, as messages name it */
  constructor(library: string) {
    this.#library = library;
  }

  /**
   * Has native code make an object over a tensor or a frame. Work in flight is over before that; for other loans of the
   * same memory the library itself has an order. Whoever calls this keeps the memory until the flags are set.
   *
   * @param blocks the planes that come back together: those of one block of memory, unless given
   * @param make makes the object. What it puts on the list is undone where it fails: that gives the references back
   * @throws {DisposedError} if it was disposed.
   * @throws {AccessError} if its bytes are lent, or work on them waits for a promise.
   */
  lend<R>(
    given: Mapped,
    access: Access,
    make: (blocks: readonly LoanedBlock[], undo: Undo) => R,
    blocks: readonly (readonly DescribedPlane[])[] = byBlock(given.described.planes),
  ): Loan<R> {
    given.assertUsable(access);
    this.#waitForOthers(given.works, writes(access));
    const flags = shortList<Signal>();
    const undo: Undo = [() => undoAll(flags.map(givingUp), "ending flags")];
    try {
      const name = `${this.#library}'s references to ${given.resource.name}`;
      const loaned = shortList<LoanedBlock>();
      for (let i = 0; i < blocks.length; i++) {
        const flag = new Signal(name);
        flags.push(flag);
        loaned.push({ planes: blocks[i], callback: flag.callback, data: flag.data });
      }
      return { object: make(loaned, undo), flags };
    } catch (error) {
      throw undone(error, undo, `lending to ${this.#library}`);
    }
  }

  /**
   * Lends a frame, which is in use until the library has no reference to its memory: its end waits for that, and so
   * does each map for writing; a map for reading waits if the frame was lent for writing. Returns the object, which the
   * program hands over.
   *
   * @param make makes the object, by {@link lend}
   */
  untilLetGo<R>({ resource, access }: Mapped, make: (access: Access) => Loan<R>): R {
    const { object, flags } = make(access);
    this.#lent = this.#lent.filter(isOut).concat(flags);
    for (const flag of flags) {
      resource.usedBy(flag.fence(), writes(access));
      flag.disposeLate(); // its fence goes on, and its memory stays until the library's call
    }
    return object;
  }

  /** The host waits for all conflicting work but other loans: for those, the library has an order. */
  #waitForOthers(works: readonly Work[], writing: boolean): void {
    for (const work of works) {
      work.forget(); // most loans are over by the next one
      if (work.line === undefined) continue;
      work.eachBefore(writing, (line, mark) => {
        if (!this.#lends(line)) line.block(mark);
      });
    }
  }

  /** True for the line of a loan that may not be back. */
  #lends(line: Line): boolean {
    return this.#lent.some((signal) => signal.fence().line === line);
  }

  /** False if programs have no objects, and all that they had are known to be back. */
  get areSome(): boolean {
    return this.#lent.length > 0;
  }

  /** True for the `data` of a block of such an object, which is not back: a reference to it would wait for itself. */
  has(data: Address): boolean {
    return this.#lent.some((signal) => signal.data === data && !signal.isSet());
  }
}

/** True while the library has not called. */
function isOut(signal: Signal): boolean {
  return !signal.isSet();
}

/** Ends the flag of a loan that did not come about. */
function givingUp(flag: Signal): () => void {
  return () => {
    flag.withdraw(); // does nothing where the object's end has set it
    flag[Symbol.dispose]();
  };
}

/** The bytes of a tensor or a frame, in the hands of a library. */
function loanOf(given: Mapped, access: Access): Resource {
  const name = `loan of ${given.name}`;
  const grants = lentBy(given, access, name);
  const owners = new Set([given.resource, ...grants.map(({ parent }) => parent!.resource!)]);
  const resource = new Resource({ name, grants, owners: [...owners] });
  return allOrNothing("lending", () => {
    for (const grant of grants) grant.revokeConflicting();
    return resource;
  }, [() => resource.dispose()]);
}

interface Kept {
  readonly isOver: () => boolean;
  readonly undo: Undo;
}

/**
 * The tensors and frames that one object of native code has references to: an encoder, or another sink that is given bytes of
 * a program's and keeps them until it is done. They can be read meanwhile, and not written. For backends.
 */
export class NativeKeep {
  readonly #remedy: string;
  readonly #isEnding: boolean;
  #kept: readonly Kept[] = [];

  /**
   * @param remedy how a program has the bytes let go, for messages: `"Close the encoder, or await the frame's end."`
   * @param isEnding true if the end of what was lent ends what has come back of it. Else it waits for that, as where bytes may
   * come back after that end has begun
   */
  constructor(remedy: string, isEnding: boolean = false) {
    this.#remedy = remedy;
    this.#isEnding = isEnding;
  }

  /** How many frames it has references to. */
  get count(): number {
    this.letGo();
    return this.#kept.length;
  }

  /**
   * Lends a tensor or a frame for as long as there are references.
   *
   * @param refer takes a reference to memory of the library's, which lasts until the list is undone: then the program's frame
   * may end before. Undefined for other memory, which has to stay
   * @param make makes the object over what is lent, by {@link NativeLoans.lend}
   */
  lend<R>(given: Mapped, refer: ((undo: Undo) => void) | undefined, make: (access: Access) => Loan<R>): R {
    given.assertUsable("read");
    const undo: Undo = [];
    const { object, flags } = allOrNothing(`handing over ${given.name}`, () => {
      const loan = loanOf(given, "read");
      undo.push(() => loan.dispose());
      loan.remedy = this.#remedy;
      for (const grant of loan.grants) grant.isForeign = this.#isEnding;
      if (refer === undefined) undo.push(loan.hold());
      else refer(undo);
      return make("read");
    }, undo);
    undo.push(...flags.map((flag) => () => flag[Symbol.dispose]()));
    const isOver = () => flags.every((flag) => flag.isSet());
    this.#kept = [...this.#kept, { isOver, undo }];
    // A thread of the library's may be the last to let go: an end may wait for that, and no call come.
    polledAside(isOver).then(() => this.letGo()).catch((error) => warn(messageOf(error)));
    return object;
  }

  /** Gives back what nothing refers to. */
  letGo(): void {
    const over = this.#kept.filter(({ isOver }) => isOver());
    if (over.length === 0) return;
    this.#kept = this.#kept.filter((kept) => !over.includes(kept));
    undoAll(over.flatMap(({ undo }) => undo), "giving frames back");
  }
}

/** Most frames lie in one block. */
function byBlock(planes: readonly DescribedPlane[]): readonly (readonly DescribedPlane[])[] {
  let areOfOne = true;
  for (const { allocation } of planes) areOfOne &&= allocation === planes[0].allocation;
  return areOfOne ? [planes] : [...Map.groupBy(planes, ({ allocation }) => allocation).values()];
}
