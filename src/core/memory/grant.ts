import { type Access, covers, reads, writes } from "./access.ts";
import type { Allocation } from "./allocation.ts";
import { AccessError, DisposedError } from "../errors.ts";
import { type Placed, Ranges } from "./ranges.ts";
import type { Resource } from "../life/resource.ts";
import type { Shown } from "./view.ts";

/** `lent`: children hold a part. `returning`: the holder is disposed, and its bytes are on their way back. */
export type GrantState = "live" | "lent" | "returning" | "ended";

const NONE: readonly Grant[] = [];

/** The part of a longer map's name that names its intermediates. */
const VIA = / (?<=map )of .* map$/;

/** The holder of bytes lent to a promise. It ends by itself. */
export const PROMISE = "promise (tensor.lend)";

/**
 * The right to use a range of one allocation, lent by a parent (law 3).
 *
 * Grants form a tree. A new borrower is judged against the earlier borrowers of the same parent: many readers, or one
 * writer. Ranges are in bytes from the allocation's start; a strided tensor counts by its bounding range.
 */
export class Grant {
  /** The block of memory. */
  readonly allocation: Allocation;
  /** The first byte. */
  readonly start: number;
  /** The byte after the last. */
  readonly end: number;
  /** The holder's access. */
  readonly access: Access;
  /** The lender; undefined for a tensor that owns its bytes. */
  readonly parent: Grant | undefined;
  /** The holder's name. */
  readonly holder: string;
  /** True if others have the bytes in the same right, as its peers: the grant of {@link root}, or a part of one. */
  readonly isOwner: boolean;
  /** The loan to other code from which the bytes came back, if they did. @see {@link root} */
  readonly loan: Grant | undefined;
  /** The resource whose end returns the bytes; set when the holder is made. */
  resource: Resource | undefined;
  /** For memory from elsewhere: the remedy if the grant does not cover an access. */
  remedy: string | undefined;
  /** @internal True for bytes that a program attached, and may have an owner for. */
  isAttached = false;
  /** @internal True for a loan to code that samepage does not run, once that has the bytes. */
  isForeign = false;
  /** A loan to other code holds here the grants that got its bytes since, by a reference that may keep the loan. */
  #keepers: readonly Grant[] = NONE;
  /** @internal The buffers that its tensor has handed out, while there are any. */
  shown: Shown | undefined;
  /** Its lends, from the first on. Facets (the peers of an allocation, the planes of a frame) share one list. */
  #lends: Ranges<Grant> | undefined;
  readonly #siblings: Ranges<Grant> | undefined;
  /** The newest of its parts with resources of their own: the planes of a frame. */
  #newest: Grant | undefined;
  /** Where this is such a part: the one that was made before it. */
  #older: Grant | undefined;
  #place: Placed<Grant> | undefined;
  /** Its place among those with work in flight. */
  #busyPlace: Placed<Grant> | undefined;
  #ended = false;

  private constructor(
    allocation: Allocation,
    start: number,
    end: number,
    access: Access,
    holder: string,
    parent: Grant | undefined,
    lends: Ranges<Grant> | undefined,
    siblings: Ranges<Grant> | undefined,
    loan?: Grant,
  ) {
    this.allocation = allocation;
    this.start = start;
    this.end = end;
    this.access = access;
    this.holder = holder;
    this.parent = parent;
    this.#lends = lends;
    this.#siblings = siblings;
    this.loan = loan;
    this.isOwner = siblings === undefined
      ? parent?.isOwner ?? false
      : siblings === allocation.roots || loan !== undefined;
    this.#place = siblings?.add(this, start, end, writes(access));
    if (siblings === allocation.roots && siblings.size === 2) Grant.#noteWorkOf(siblings);
  }

  /**
   * The grant of a tensor that has its bytes from no other tensor: an owner of the block. Its lends are judged together
   * with those of its peers.
   *
   * Where other code has the bytes on loan, and may use them so, they came from there. Then the lender's rules hold: it is a
   * borrower of the lender's, beside the loan, and ends before the lender. All who have the bytes by one loan are peers.
   *
   * @throws {DisposedError} if the lender's end has begun.
   */
  static root(allocation: Allocation, start: number, end: number, access: Access, holder: string): Grant {
    const { lends, roots } = allocation;
    const loan = lends.size === 0 ? undefined : Grant.#liveLoanIn(lends, start, end, access);
    if (loan === undefined) return new Grant(allocation, start, end, access, holder, undefined, lends, roots);
    loan.parent!.resource?.assertLive();
    return new Grant(allocation, start, end, access, holder, undefined, loan.#shared, loan.#siblings, loan);
  }

  static #liveLoanIn(lends: Ranges<Grant>, start: number, end: number, access: Access): Grant | undefined {
    let loan: Grant | undefined;
    do {
      loan = Grant.#loanIn(lends, start, end, access);
      loan?.resource?.settleIfOver(); // a loan only learns that other code has given the bytes back when it is asked
    } while (loan !== undefined && loan.#ended);
    return loan;
  }

  /** A part of the same grant. The lends of a frame's plane are judged together with the frame's. */
  facet(start: number, end: number, holder: string): Grant {
    const facet = new Grant(this.allocation, start, end, this.access, holder, this, this.#shared, undefined);
    facet.#older = this.#newest;
    this.#newest = facet;
    return facet;
  }

  /**
   * The same right to the same elements where another block shows them. Its lends are judged there, together with those of
   * that block's peers. The holder keeps this grant as well.
   */
  elsewhere(allocation: Allocation, start: number = 0, end: number = allocation.block.byteLength): Grant {
    const { lends, roots } = allocation;
    return new Grant(allocation, start, end, this.access, this.holder, this.parent, lends, roots);
  }

  /** Lends a range to a new holder. Call {@link conflicts} first. */
  lend(access: Access, start: number, end: number, holder: string): Grant {
    return new Grant(this.allocation, start, end, access, holder, this, undefined, this.#shared);
  }

  /** Its state. */
  get state(): GrantState {
    if (this.#ended) return "ended";
    if (this.returning) return "returning";
    return this.#lends?.some(this.start, this.end, "all", () => true) ? "lent" : "live";
  }

  /** True if neither it nor a facet lends anything. */
  get lendsNothing(): boolean {
    return this.#lends === undefined || this.#lends.size === 0;
  }

  /** Its lends; facets of one grant share them. */
  get lends(): Iterable<Grant> {
    return this.#shared;
  }

  /** The grants of other owners, and of their planes, that have work in flight; none for a borrower. */
  get busyPeers(): readonly Grant[] {
    const { roots, busy, indivisible } = this.allocation;
    if (busy.size === 0 || !(this.#siblings === roots || this.loan !== undefined)) return NONE;
    return indivisible ? this.#busyIn(0, Infinity) : this.#busyIn(this.start, this.end);
  }

  #busyIn(start: number, end: number): readonly Grant[] {
    const [peers, idle]: [Grant[], Grant[]] = [[], []];
    this.allocation.busy.some(start, end, "all", (one) => {
      if (one.resource!.work.line === undefined) idle.push(one);
      else if (one !== this && one.parent !== this) peers.push(one);
      return false;
    });
    for (const one of idle) if (one.#busyPlace !== undefined) one.#leaveBusy(one.#busyPlace);
    return peers;
  }

  /** An owner's work begins. One that is alone has no peers who look for it. */
  beginWork(): void {
    const { roots, busy } = this.allocation;
    const loan = this.#siblings === undefined ? this.parent?.loan : this.loan; // a part has its peers by what it is a part of
    if ((roots.size > 1 || loan !== undefined) && !this.#ended) {
      this.#busyPlace ??= busy.add(this, this.start, this.end, false);
    }
  }

  /** True once the holder is disposed and its bytes are on their way back. */
  get returning(): boolean {
    return !this.#ended && (this.resource?.onTheWayBack ?? false) && this.#keeper === undefined;
  }

  /** @internal Its holder has a reference of its own to the memory, which may be other code's that has it on loan. */
  mayKeepLoans(): void {
    const { lends } = this.allocation;
    if (lends.size > 0) this.#mayKeep(lends);
  }

  /** @internal True for bytes that another owner has lent to other code, and keeps until that has released them. */
  get isOnLoan(): boolean {
    // The bytes of a promise have no resource of their own.
    return this.allocation.lends.some(this.start, this.end, "all", ({ resource }) => resource?.held ?? false);
  }

  /** Other code that was lent bytes for reading may hand them on for writing: then the loan is not {@link loan}. */
  #mayKeep(lends: Ranges<Grant>): void {
    lends.some(this.start, this.end, "all", (lent) => {
      if (lent.isForeign) lent.#keepers = [...lent.#keepers.filter((one) => !one.#ended), this];
      // What came back from a loan lends as the loan does.
      if (lent.loan === undefined && lent.#lends !== undefined) this.#mayKeep(lent.#lends);
      return false;
    });
  }

  /**
   * For a loan to other code that is not over: who may keep it until then. Its lender, and what that was lent from, cannot
   * end before it.
   */
  get #keeper(): Grant | undefined {
    let keeper: Grant | undefined;
    if (this.#keepers.length > 0 && this.resource!.busy) {
      keeper = this.#keepers.find((one) => !one.#ended && !one.returning);
    }
    if (keeper !== undefined || this.lendsNothing) return keeper;
    this.#lends!.some(this.start, this.end, "all", (lent) => {
      if (lent.isWithin(this)) keeper = lent.#keeper; // owners of one block share their lends
      return keeper !== undefined;
    });
    return keeper;
  }

  /**
   * Checks that the holder may use these bytes now. Returns the returning grants to wait for first.
   *
   * @throws {AccessError} if the grant does not cover the access, or the bytes are lent out.
   */
  conflicts(access: Access, start: number = this.start, end: number = this.end): readonly Grant[] {
    if (this.#ended || !covers(this.access, access)) throw this.#whyNever(access);
    if (this.#lends === undefined || this.#lends.size === 0) return NONE;
    return this.#conflictsAmong(this.#lends, access, start, end);
  }

  /** Why the holder may not use its bytes so, whatever it lends. */
  #whyNever(access: Access): AccessError | DisposedError {
    if (this.#ended) return new DisposedError(`${this.holder} was disposed.`, { api: "core" });
    return new AccessError(`${this.holder} was lent for "${this.access}" and cannot be used for "${access}".`, {
      api: "core",
      argument: "access",
      hint: this.#origin.remedy ?? 'Ask for it when it is made: { access: "read-write" }.',
    });
  }

  #conflictsAmong(lends: Ranges<Grant>, access: Access, start: number, end: number): readonly Grant[] {
    let returning: Grant[] | undefined;
    lends.some(start, end, writes(access) ? "all" : "writers", (lent) => {
      if (!lent.returning) throw lent.#inTheWayOf(this).#refusal(access, this.holder);
      (returning ??= []).push(lent);
      return false;
    });
    return returning ?? NONE;
  }

  /** What has to end before a user has the bytes. */
  #inTheWayOf(user: Grant): Grant {
    const keeper = this.#keeper;
    return keeper === undefined || user.isWithin(keeper) ? this : keeper;
  }

  /** The grants on any of these bytes that are on their way back: its borrowers', and those of what it still lends. */
  returningIn(start: number, end: number): readonly Grant[] {
    if (this.lendsNothing) return NONE;
    const found: Grant[] = [];
    this.#lends!.some(start, end, "all", (lent) => {
      if (lent.returning) found.push(lent);
      else found.push(...lent.returningIn(start, end));
      return false;
    });
    return found;
  }

  /** True if the bounding ranges of the two have bytes in common. */
  overlaps(other: Grant): boolean {
    return this.allocation === other.allocation && this.start < other.end && other.start < this.end;
  }

  /** True if `ancestor` is this grant, or one that it was lent from. */
  isWithin(ancestor: Grant): boolean {
    if (this === ancestor) return true;
    let at = this.#lender;
    while (at !== undefined && at !== ancestor) at = at.#lender;
    return at !== undefined;
  }

  /**
   * Revokes the views that conflict with a use of this grant: all for a writer, the writable ones for a reader.
   *
   * @throws {AccessError} if a view cannot be revoked.
   */
  revokeConflicting(access: Access = this.access): void {
    if (this.allocation.liveViews > 0) this.allocation.views?.revokeRange(this.start, this.end, !writes(access));
  }

  /** Gives the bytes back to the parent. Idempotent. */
  finish(): void {
    this.#ended = true;
    this.#leave();
  }

  /**
   * Only work in flight holds the bytes, and a newer grant has all of them, whose work stands behind this one's: a new
   * user of them waits for that one alone. A reader stands for readers only, because other readers do not wait for it.
   */
  coverBy(newer: Grant): void {
    if (writes(this.access) && !writes(newer.access)) return;
    if (newer.#siblings === this.#siblings && newer.start <= this.start && this.end <= newer.end) this.#leave();
  }

  #leave(): void {
    if (this.#place !== undefined) this.#siblings!.delete(this.#place);
    this.#place = undefined;
    if (this.#busyPlace !== undefined) this.#leaveBusy(this.#busyPlace);
  }

  #leaveBusy(place: Placed<Grant>): void {
    this.allocation.busy.delete(place);
    this.#busyPlace = undefined;
  }

  static #noteWorkOf(roots: Ranges<Grant>): void {
    for (const root of roots) root.#noteWork();
  }

  /** The first other owner has come: from now on work is noted as it begins. */
  #noteWork(): void {
    if (this.resource?.work.line !== undefined) this.beginWork();
    for (let facet = this.#newest; facet !== undefined; facet = facet.#older) facet.#noteWork();
  }

  /** The loan to other code that covers such a use of these bytes: the innermost; of several readers, the tightest. */
  static #loanIn(lends: Ranges<Grant>, start: number, end: number, access: Access): Grant | undefined {
    let found: Grant | undefined;
    lends.some(start, end, "all", (lent) => {
      // What came back from a loan lends as the loan does: no need to look there twice.
      if (lent.loan !== undefined || lent.start > start || lent.end < end || !covers(lent.access, access)) return false;
      const inner = lent.#lends === undefined ? undefined : Grant.#loanIn(lent.#lends, start, end, access);
      const loan = inner ?? (lent.isForeign ? lent : undefined);
      if (loan !== undefined && !(found !== undefined && found.#length < loan.#length)) found = loan;
      return false;
    });
    return found;
  }

  get #length(): number {
    return this.end - this.start;
  }

  get #lender(): Grant | undefined {
    return this.parent ?? this.loan?.parent;
  }

  get #origin(): Grant {
    return this.parent === undefined ? this : this.parent.#origin;
  }

  get #shared(): Ranges<Grant> {
    return this.#lends ??= new Ranges();
  }

  #refusal(access: Access, user: string): AccessError {
    // The message names x already, so "slice [4] u8 of x" is cut. The program knows only the last part of a longer map.
    const ofUser = ` of ${user}`;
    const purpose = this.resource?.purpose.name ?? this.holder;
    const own = purpose.endsWith(ofUser) ? `its ${purpose.slice(0, -ofUser.length).split(VIA)[0]}` : this.holder;
    const it = own === this.holder ? own : "that";
    const first = own === `its ${PROMISE}` ? "Await that first." : `Dispose ${it} first.`;
    const among = writes(this.access) || !reads(access) ? "" : ' Until then they can be read: { access: "read" }.';
    const hint = this.resource?.wayOut ?? `${first}${among}`;
    return new AccessError(
      `${user} cannot be used for "${access}": bytes ${this.start} to ${this.end} are lent to ${own} for "${this.access}".`,
      { api: "core", hint },
    );
  }
}
