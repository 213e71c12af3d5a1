import type { Address } from "../../../ffi/address.ts";
import { polledAside } from "../device/asking.ts";
import type { Line } from "../device/line.ts";
import { Signal } from "../device/native_flag.ts";
import type { Work } from "../device/work.ts";
import { messageOf, warn } from "../errors.ts";
import { allOrNothing, shortList, type Undo, undoAll, undone } from "../life/undo.ts";
import { writes } from "../memory/access.ts";
import type { DescribedPlane } from "./described.ts";
import { type Frame, planesOf } from "./frame.ts";
import type { Mapped } from "./mapped.ts";
import type { Tensor } from "./tensor.ts";

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
  /** One for each block: set once native code no longer needs it. The caller ends them. */
  readonly flags: readonly LoanFlag[];
}

/** What a `NativeFlag` has, without its finalizer: a loan is not forgotten. */
export type LoanFlag = Pick<Signal, "fence" | "isSet" | typeof Symbol.dispose>;

const NONE_LENT: readonly Signal[] = [];

/**
 * Memory that one library has references to, and keeps for as long as it likes, on its own threads: its encoders, filters
 * and consumers. For backends.
 */
export class NativeLoans {
  readonly #library: string;
  /** The blocks that may not be back yet. */
  #lent: readonly Signal[] = NONE_LENT;

  /** @param library who has the references, as messages name it */
  constructor(library: string) {
    this.#library = library;
  }

  /**
   * Has native code make an object over a tensor or a frame. Work in flight is over before that; for other loans of the
   * same memory the library itself has an order. Whoever calls this keeps the memory until the flags are set: `usedBy`.
   *
   * @param blocks the planes that come back together: those of one block of memory, unless given
   * @param make makes the object. What it puts on the list is undone where it fails: that gives the references back
   * @throws {DisposedError} if it was disposed.
   * @throws {AccessError} if its bytes are lent, or work on them waits for a promise.
   */
  lend<R>(
    given: Mapped,
    make: (blocks: readonly LoanedBlock[], undo: Undo) => R,
    blocks: readonly (readonly DescribedPlane[])[] = byBlock(given.described.planes),
  ): Loan<R> {
    const { access, resource: { name } } = given;
    given.assertUsable(access);
    this.#waitForOthers(given.works, writes(access));
    const undo: Undo = shortList();
    try {
      const flags: Signal[] = [];
      const loaned: LoanedBlock[] = [];
      for (const planes of blocks) {
        const flag = new Signal(`${this.#library}'s references to ${name}`);
        undo.push(() => {
          flag.withdraw(); // does nothing where the object's end has set it
          flag[Symbol.dispose]();
        });
        flags.push(flag);
        loaned.push({ planes, callback: flag.callback, data: flag.data });
      }
      const object = make(loaned, undo);
      this.#lent = [...this.#stillLent(), ...flags];
      return { object, flags };
    } catch (error) {
      throw undone(error, undo, `lending to ${this.#library}`);
    }
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

  #stillLent(): readonly Signal[] {
    let still = this.#lent;
    for (const signal of this.#lent) if (signal.isSet()) still = still.filter((one) => one !== signal);
    return still;
  }

  /** True for the line of a loan that may not be back. */
  #lends(line: Line): boolean {
    return this.#lent.some((signal) => signal.fence().line === line);
  }

  /** False if nothing is lent, and all that was is known to be back. */
  get areSome(): boolean {
    return this.#lent.length > 0;
  }

  /** True for the `data` of a block that was lent and did not come back. */
  has(data: Address): boolean {
    return this.#lent.some((signal) => signal.data === data && !signal.isSet());
  }
}

interface Kept {
  readonly isOver: () => boolean;
  readonly undo: Undo;
}

/**
 * The tensors and frames that one object of native code has references to: an encoder, or another sink that is given bytes of a program's
 * and keeps them until it is done. They can be read meanwhile, and not written. For backends.
 */
export class NativeKeep<T extends Tensor> {
  readonly #remedy: string;
  #kept: readonly Kept[] = [];

  /** @param remedy how a program has the bytes let go, for messages: `"Close the encoder, or await the frame's end."` */
  constructor(remedy: string) {
    this.#remedy = remedy;
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
   * @param make makes the object over what is lent
   */
  lend<M extends T | Frame<T>, R>(given: M, refer: ((undo: Undo) => void) | undefined, make: (given: M) => Loan<R>): R {
    const undo: Undo = [];
    const { object, flags } = allOrNothing(`handing over ${given.name}`, () => {
      const lent = given.borrow("read") as M;
      undo.push(() => lent[Symbol.dispose]());
      for (const { resource } of [lent, ...planesOf<T>(lent)]) resource.remedy = this.#remedy;
      for (const grant of lent.grants) grant.isForeign = true;
      if (refer === undefined) undo.push(lent.resource.hold());
      else refer(undo);
      const loan = make(lent);
      undo.push(...loan.flags.map((flag) => () => flag[Symbol.dispose]()));
      return loan;
    }, undo);
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
