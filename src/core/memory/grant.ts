import { type Access, covers, writes } from "./access.ts";
import type { Allocation } from "./allocation.ts";
import { AccessError, DisposedError } from "../errors.ts";
import { type Placed, Ranges } from "./ranges.ts";
import type { Resource } from "../life/resource.ts";

/** `lent`: children hold a part; `returning`: the holder is disposed, its bytes are on their way back. */
export type GrantState = "live" | "lent" | "returning" | "ended";

const NONE: readonly Grant[] = [];

/** Where the name of a longer map goes on with the memory that it came by. */
const VIA = / (?<=map )of .* map$/;

/** Who holds what was lent to a promise: that ends by itself. */
export const PROMISE = "promise (tensor.lend)";

/**
 * The right to use a range of one allocation, lent by a parent (law 3).
 *
 * Grants form a tree. Whoever asks for bytes is judged against what the same parent has lent of them already: many
 * readers, or one writer. Ranges are bytes from the allocation's start; a strided tensor counts by its bounding range.
 */
export class Grant {
  /** The block of memory. */
  readonly allocation: Allocation;
  /** The first byte. */
  readonly start: number;
  /** The byte after the last. */
  readonly end: number;
  /** What the holder may do. */
  readonly access: Access;
  /** Whom it was borrowed from; undefined for an allocation's own tensors. */
  readonly parent: Grant | undefined;
  /** Who holds it, in words. */
  readonly holder: string;
  /** The resource whose end returns the bytes; set when the holder is made. */
  resource: Resource | undefined;
  /** What is lent of it. Facets (the peers of an allocation, the planes of a frame) share one list. */
  readonly #lends: Ranges<Grant>;
  readonly #siblings: Ranges<Grant> | undefined;
  readonly #place: Placed<Grant> | undefined;
  #ended = false;

  private constructor(
    allocation: Allocation,
    start: number,
    end: number,
    access: Access,
    holder: string,
    parent: Grant | undefined,
    lends: Ranges<Grant>,
    siblings: Ranges<Grant> | undefined,
  ) {
    this.allocation = allocation;
    this.start = start;
    this.end = end;
    this.access = access;
    this.holder = holder;
    this.parent = parent;
    this.#lends = lends;
    this.#siblings = siblings;
    this.#place = siblings?.add(this, start, end, writes(access));
  }

  /** The grant of a tensor that owns its bytes: what it lends is judged together with what its peers lend. */
  static root(allocation: Allocation, start: number, end: number, access: Access, holder: string): Grant {
    return new Grant(allocation, start, end, access, holder, undefined, allocation.lends, allocation.roots);
  }

  /** The same grant seen for a part of its range: what a plane of a frame lends is judged together with the frame's. */
  facet(start: number, end: number, holder: string): Grant {
    return new Grant(this.allocation, start, end, this.access, holder, this, this.#lends, undefined);
  }

  /**
   * The same right to the same elements where they are shown in another block, from its beginning: what is lent of that is
   * judged there, together with what its peers lend. The holder keeps this grant as well.
   */
  elsewhere(allocation: Allocation, byteLength: number = allocation.block.byteLength): Grant {
    const { lends, roots } = allocation;
    return new Grant(allocation, 0, byteLength, this.access, this.holder, this.parent, lends, roots);
  }

  /** Lends a range to a new holder. The caller has asked {@link conflicts} first. */
  lend(access: Access, start: number, end: number, holder: string): Grant {
    return new Grant(this.allocation, start, end, access, holder, this, new Ranges(), this.#lends);
  }

  /** Where in its life this grant is. */
  get state(): GrantState {
    if (this.#ended) return "ended";
    if (this.returning) return "returning";
    return this.#lends.some(this.start, this.end, "all", () => true) ? "lent" : "live";
  }

  /** True where nothing is lent of it, nor of its facets. */
  get lendsNothing(): boolean {
    return this.#lends.size === 0;
  }

  /** What is lent of it, in part or whole; facets of one grant have one list: for those who write mappers. */
  get lends(): Iterable<Grant> {
    return this.#lends;
  }

  /** The grants of other tensors that own any of these bytes as well, as far as work on them goes; none of what was lent. */
  get peers(): readonly Grant[] {
    const { roots, indivisible } = this.allocation;
    if (roots.size < 2 || this.#siblings !== roots) return NONE;
    const peers: Grant[] = [];
    const [start, end] = indivisible ? [0, Infinity] : [this.start, this.end];
    roots.some(start, end, "all", (root) => {
      if (root !== this) peers.push(root);
      return false;
    });
    return peers;
  }

  /** True once the holder is disposed and its bytes are on their way back. */
  get returning(): boolean {
    return !this.#ended && (this.resource?.onTheWayBack ?? false);
  }

  /**
   * May the holder use these bytes so, now? Answers the returning grants that have to be waited for first.
   *
   * @throws {AccessError} where the grant does not cover the access, or the bytes are lent out.
   */
  conflicts(access: Access, start: number = this.start, end: number = this.end): readonly Grant[] {
    if (this.#ended) throw new DisposedError(`${this.holder} was disposed.`, { api: "core" });
    if (!covers(this.access, access)) {
      throw new AccessError(`${this.holder} was lent for "${this.access}" and cannot be used for "${access}".`, {
        api: "core",
        argument: "access",
        hint: `Ask for it when it is made: { access: "read-write" }.`,
      });
    }
    if (this.#lends.size === 0) return NONE;
    let returning: Grant[] | undefined;
    this.#lends.some(start, end, writes(access) ? "all" : "writers", (lent) => {
      if (!lent.returning) throw lent.#refusal(access, this.holder);
      (returning ??= []).push(lent);
      return false;
    });
    return returning ?? NONE;
  }

  /** True where the two have bytes in common, as far as their bounding ranges tell. */
  overlaps(other: Grant): boolean {
    return this.allocation === other.allocation && this.start < other.end && other.start < this.end;
  }

  /** True where `ancestor` is this grant or lent the bytes that ended up here. */
  isWithin(ancestor: Grant): boolean {
    if (this === ancestor) return true;
    let at = this.parent;
    while (at !== undefined && at !== ancestor) at = at.parent;
    return at !== undefined;
  }

  /**
   * Revokes the views that must not be used while this grant is: all for a writer, the writable ones for a reader.
   *
   * @throws {AccessError} where one cannot be.
   */
  revokeConflicting(access: Access = this.access): void {
    if (this.allocation.liveViews > 0) this.allocation.views?.revokeRange(this.start, this.end, !writes(access));
  }

  /** Gives the bytes back to the parent. Idempotent. */
  finish(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#place !== undefined) this.#siblings!.delete(this.#place);
  }

  #refusal(access: Access, user: string): AccessError {
    // The holder is called "slice [4] u8 of x", and x has just been named; a program knows the last of a longer map.
    const ofUser = ` of ${user}`;
    const purpose = this.resource?.purpose.name ?? this.holder;
    const own = purpose.endsWith(ofUser) ? `its ${purpose.slice(0, -ofUser.length).split(VIA)[0]}` : this.holder;
    const it = own === this.holder ? own : "that";
    const hint = own === `its ${PROMISE}` ? "Await that first." : `Dispose ${it} first.`;
    return new AccessError(
      `${user} cannot be used for "${access}": bytes ${this.start} to ${this.end} are lent to ${own} for "${this.access}".`,
      { api: "core", hint },
    );
  }
}
