import { type Names, optionsIn } from "../argument.ts";
import { type Fence, fenceIn } from "../device/fence.ts";
import type { MemoryTarget } from "../contract.ts";
import type { Context } from "../graph/context.ts";
import { ArgumentError } from "../errors.ts";
import { type FrameInfo, frameInWords, type MediaFacts, withMoment } from "../layout/frame_info.ts";
import { describeLayout, type Layout } from "../layout/layout.ts";
import { Resource } from "../life/resource.ts";
import { added, undone } from "../life/undo.ts";
import { type Access, accessOf } from "../memory/access.ts";
import { Allocation, type BlockOwner, type Fate, type OwnedBlock } from "../memory/allocation.ts";
import type { Grant } from "../memory/grant.ts";
import { own } from "../memory/own.ts";
import { findAllocation, findPlace, registerByHandle } from "../memory/peers.ts";
import { checkPlanes, Frame } from "./frame.ts";
import type { Mapped } from "./mapped.ts";
import type { Metadata } from "./metadata.ts";
import { type PlacedPlane, planeAt } from "./described.ts";
import type { Tensor } from "./tensor.ts";

/** A native object that other code made, and what to call once it is over. */
export interface FrameOwner {
  /**
   * What its handle is unique among: `"VASurfaceID of 0x7f…"`. Frames and tensors of the same kind and handle share one
   * allocation for each block, in the order of the planes. Left out where the handle does not name the memory.
   */
  readonly kind?: string;
  /** The object: a `VASurfaceID`, an `AVFrame*`. It becomes `Frame.handle`. */
  readonly handle: bigint;
  /**
   * Gives the object back. Called once, after all work on it, also where adopting it fails. `fate` is the worst that
   * happened to its blocks: unless it is `"unused"`, an old view may still reach the bytes.
   */
  release(fate: Fate): void;
  /**
   * True for a reference of its own to memory that others may refer to as well. It goes back once its own frame has ended:
   * else an object that is adopted again and again, while one frame over it lives, would gather references. Any other object
   * goes back when all that is over its blocks has ended.
   */
  readonly isReference?: boolean;
  /** The work that the object has to wait for. */
  readonly work?: Fence | undefined;
}

/** Options of `attach`, in every API: what a program says of foreign memory. */
export interface AttachOptions {
  /** How the memory may be used; by default in every way that its kind allows. */
  readonly access?: Access;
  /** Its maker's work that is still in flight: whatever uses the memory waits for it. */
  readonly after?: Fence;
  /**
   * Called at most once: after all work, when the last tensor that was attached to any of these bytes has ended. Where
   * `attach` fails it is called once `after` is over, even while another tensor stands on the bytes: give each `attach` a
   * reference of its own. It is not called where an old view may still reach the bytes; they have to stay then. Tensors
   * over other bytes of the same block do not hold it back: attach a block that is freed as a whole once, and slice it.
   * It must not hold the tensor, which could never be collected.
   */
  readonly owner?: () => void;
}

export const ATTACH_NAMES: Names<AttachOptions> = { access: true, after: true, owner: true };

/**
 * Attaches memory as the options say. For backends. The owner is called after everything that `make` made
 * has ended, or once `after` is over where it fails.
 *
 * @param names those of the options that there are, where an API has others besides
 * @throws {ArgumentError} for options of a wrong type, and unknown ones.
 */
export function attaching<M extends Mapped>(
  options: AttachOptions,
  make: (access: Access | undefined, after: readonly Fence[]) => M,
  names: Readonly<Record<keyof AttachOptions, unknown>> = ATTACH_NAMES,
): M {
  const given = optionsIn(options, names);
  const made = given.after === undefined && given.owner === undefined
    ? make(wantedAccess(given), NO_WORK)
    : attachingOwned(given, make);
  const { grants } = made;
  for (let i = 0; i < grants.length; i++) grants[i].isAttached = true;
  return made;
}

/** The same with work to wait for, or something to call at the end. */
function attachingOwned<M extends Mapped>(
  options: AttachOptions,
  make: (access: Access | undefined, after: readonly Fence[]) => M,
): M {
  const { after, owner } = options;
  if (owner !== undefined && typeof owner !== "function") {
    throw new ArgumentError("owner: expected a function.", { api: "core", argument: "owner" });
  }
  let work: Fence | undefined;
  let made: M;
  try {
    work = after === undefined ? undefined : fenceIn(after, "after");
    made = make(wantedAccess(options), work === undefined ? NO_WORK : [work]);
  } catch (error) {
    throw undone(error, [() => releaseAfter(work, () => owner?.())], "attaching memory");
  }
  if (work !== undefined) made.resource.usedBy(work);
  const { grants } = made;
  // A plane's, and not a frame's: planes may end without their frame, with their context.
  const resource = grants[0].resource!;
  if (owner !== undefined) resource.undo.unshift(() => release(resource, grants, owner));
  return made;
}

function wantedAccess({ access }: AttachOptions): Access | undefined {
  return access === undefined ? undefined : accessOf(access, access);
}

const NO_WORK: readonly Fence[] = [];

/** Calls the owner at the end of a tensor, unless the bytes have to stay. Where another was attached to them, that does. */
function release(ending: Resource, grants: readonly Grant[], owner: () => void): void {
  for (const { allocation, start, end, loan } of grants) {
    if (loan !== undefined) continue; // the lender's end waits for the loan's, which may wait for this call
    if (allocation.escaped || allocation.unseen) return;
    let heir: Resource | undefined;
    allocation.roots.some(start, end, "all", ({ resource, isAttached }) => {
      if (resource !== ending && isAttached) heir = resource;
      return heir !== undefined;
    });
    if (heir !== undefined) {
      const next = heir;
      return void next.undo.unshift(() => release(next, grants, owner));
    }
  }
  owner();
}

/**
 * Calls a function at the end of a tensor that was attached with a reference of its own to the memory: others on the same
 * bytes do not hold it back, as they would an {@link AttachOptions.owner}. One of them may wait for just that call. It is
 * not called where an old view may still reach bytes that are not a tensor's here. For backends.
 */
export function givesBack({ resource, grants }: Mapped, release: () => void): void {
  for (const grant of grants) grant.mayKeepLoans();
  resource.undo.unshift(() => {
    const isReached = ({ allocation, loan }: Grant) => loan === undefined && (allocation.escaped || allocation.unseen);
    if (!grants.some(isReached)) release();
  });
}

/** Releases an object that was not adopted, once its maker's work is over. */
function releaseAfter(work: Fence | undefined, release: () => void): void {
  if (work === undefined || work.line.isOver(work.mark)) release();
  else new Resource({ name: "memory that could not be attached", undo: [release] }).disposeAfter(work);
}

/** A plane of such an object. */
export interface AdoptedPlane {
  /** What its tensor is made with: an address, or the object. */
  readonly handle: unknown;
  /** Where its elements lie, counted from the handle. */
  readonly layout: Layout;
  /** The block that it lies in. Planes of one block pass the same object. One with a host address is found by that. */
  readonly block: OwnedBlock;
  /** Where the handle's byte lies in the block; 0 by default. */
  readonly start?: number;
}

/** What may be said of an adopted object besides. */
export interface Adoption {
  /** Its name, for messages. */
  readonly name?: string;
  /** How it may be used; `"read-write"` by default. */
  readonly access?: Access | undefined;
  /** The resources that outlive it; its context's by default. */
  readonly owners?: readonly (Resource | undefined)[];
  /** A frame's metadata. */
  readonly metadata?: Metadata | undefined;
  /** The facts of a frame that the others of its stream do not share: `info` is the same for all of them. */
  readonly moment?: MediaFacts | undefined;
}

/**
 * A frame over an object of one or several planes and blocks that other code made. For backends. The owner
 * is taken over, and released once, also where this fails.
 *
 * @param planes those that `info` describes, in the order of the format
 * @throws {ArgumentError} if a block is longer than the memory that samepage knows at its place.
 * @throws {LayoutError} if the planes are not those that `info` describes.
 */
export function adoptFrame<T extends Tensor>(
  target: MemoryTarget<T>,
  owner: FrameOwner,
  info: FrameInfo,
  planes: readonly AdoptedPlane[],
  about: Adoption = NOTHING_MORE,
): Frame<T> {
  const object = new Adopted(target, owner, about);
  try {
    object.begin();
    const frame = frameOf(target, object, info, planes, about);
    object.free("unused");
    return frame;
  } catch (error) {
    throw object.undone(error);
  }
}

/** The same for an object that is one tensor. */
export function adoptTensor<T extends Tensor>(
  target: MemoryTarget<T>,
  owner: FrameOwner,
  plane: AdoptedPlane,
  about: Adoption = NOTHING_MORE,
): T {
  const object = new Adopted(target, owner, about);
  try {
    object.begin();
    const { handle, layout } = plane;
    const resource = object.own([plane], about.name ?? `${target.kind} tensor ${describeLayout(layout)}`);
    const tensor = target.ports.tensor!({ target, handle, layout, resource });
    object.free("unused");
    return tensor;
  } catch (error) {
    throw object.undone(error);
  }
}

const NOTHING_MORE: Adoption = {};

function frameOf<T extends Tensor>(
  target: MemoryTarget<T>,
  object: Adopted,
  info: FrameInfo,
  planes: readonly AdoptedPlane[],
  { name = `${target.kind} frame ${frameInWords(info)}`, metadata, moment }: Adoption,
): Frame<T> {
  if (planes.length === 0) throw noPlanes(target.context);
  checkPlanes(planes, info);
  if (!areOfOneBlock(planes)) return scattered(target, object, info, planes, name, { metadata, moment });
  const { handle } = object.owner;
  const resource = object.own(planes, name);
  return new Frame<T>({ target, resource, info, moment, handle, planes: placedIn(resource, planes), metadata });
}

function noPlanes({ api }: Context): ArgumentError {
  return new ArgumentError("planes: a frame has one at least.", { api, argument: "planes" });
}

/** The planes lie in several blocks. */
function scattered<T extends Tensor>(
  target: MemoryTarget<T>,
  object: Adopted,
  info: FrameInfo,
  planes: readonly AdoptedPlane[],
  name: string,
  { metadata, moment }: Adoption,
): Frame<T> {
  const tensors = planes.map((plane, i) => {
    const resource = object.own([plane], `plane ${i} of ${name}`);
    return target.ports.tensor!({ target, handle: plane.handle, layout: plane.layout, resource });
  });
  return Frame.of<T>(tensors, withMoment(info, moment), metadata, object.owner.handle);
}

function areOfOneBlock(planes: readonly AdoptedPlane[]): boolean {
  for (let i = 1; i < planes.length; i++) if (planes[i].block !== planes[0].block) return false;
  return true;
}

/** Where planes of one block lie in its allocation: the grant begins with the first of them. */
function placedIn({ grants }: Resource, planes: readonly AdoptedPlane[]): readonly PlacedPlane[] {
  const grant = grants[0];
  const origin = grant.start - firstByte(planes);
  const placed = new Array<PlacedPlane>(planes.length);
  for (let i = 0; i < planes.length; i++) {
    const { handle, layout } = planes[i];
    placed[i] = planeAt(handle, layout, grant, origin + firstByteOf(planes[i]), i);
  }
  return placed;
}

/** Where planes of one block begin in it. */
function firstByte(planes: readonly AdoptedPlane[]): number {
  let first = firstByteOf(planes[0]);
  for (let i = 1; i < planes.length; i++) first = Math.min(first, firstByteOf(planes[i]));
  return first;
}

function firstByteOf({ layout: { byteOffset }, start = 0 }: AdoptedPlane): number {
  return start + byteOffset;
}

/** An object, until neither a block of it nor the call that adopts it holds it. */
class Adopted implements BlockOwner {
  readonly owner: FrameOwner;
  readonly #target: MemoryTarget;
  readonly #about: Adoption;
  #blocks: Met[] | undefined;
  /** What the call has made so far. */
  #made: Resource[] | undefined;
  #holds = 1;
  #fate: Fate = "unused";

  constructor(target: MemoryTarget, owner: FrameOwner, about: Adoption) {
    this.owner = owner;
    this.#target = target;
    this.#about = about;
  }

  /** @throws {DisposedError} if the context was disposed. */
  begin(): void {
    this.#target.context.resource?.assertLive();
  }

  /** Called by each holder as it lets go: a freed block, or the call. The last one releases the object. */
  free(fate: Fate): void {
    if (this.#fate === "unused" || fate === "escaped") this.#fate = fate;
    if (--this.#holds === 0) this.owner.release(this.#fate);
  }

  /** Undoes the call. @throws the failure, and those of the steps. */
  undone(error: unknown): never {
    const steps = (this.#made ?? []).map((resource) => () => resource.dispose());
    throw undone(error, [() => releaseAfter(this.owner.work, () => this.free("unused")), ...steps], "adopting memory");
  }

  /** The end of life of planes of one block. */
  own(planes: readonly AdoptedPlane[], name: string): Resource {
    const { block } = planes[0];
    const { access, owners = [this.#target.context.resource] } = this.#about;
    const { allocation, start: origin, isOthers } = this.#meet(block);
    const start = origin + firstByte(planes);
    let end = start;
    for (let i = 0; i < planes.length; i++) {
      end = Math.max(end, origin + firstByteOf(planes[i]) + planes[i].layout.byteLength);
    }
    const resource = own({ name, allocation, start, end, owners, access });
    this.#made = added(this.#made, resource);
    if (isOthers) this.#holdWith(resource, allocation);
    const { work } = this.owner;
    if (work !== undefined) resource.work.add(work);
    return resource;
  }

  /** A tensor over a block that others have made. */
  #holdWith({ undo, grants: [grant] }: Resource, allocation: Allocation): void {
    this.#holds++;
    const untilFreed = () => allocation.beforeFree((fate) => this.free(fate));
    if (!this.owner.isReference) return untilFreed();
    const isReached = () => (allocation.escaped || allocation.unseen) && !grant.isOnLoan;
    undo.push(() => isReached() ? untilFreed() : this.free("unused"));
  }

  /** Where a block lies: as met with another plane, in memory that samepage knows, or by itself. */
  #meet(block: OwnedBlock): Met {
    const known = this.#blocks?.find((met) => met.block === block);
    if (known !== undefined) return known;
    const met = this.#known(block) ?? { block, allocation: this.#newAllocation(block), start: 0, isOthers: false };
    this.#blocks = added(this.#blocks, met);
    return met;
  }

  #newAllocation(block: OwnedBlock): Allocation {
    this.#holds++;
    const allocation = new Allocation(block, this);
    const kind = this.#kindOfNext();
    if (kind !== undefined) registerByHandle(kind, this.owner.handle, allocation);
    return allocation;
  }

  /** What the next new block is known by, with the object's handle: a handle stands for all of its blocks. */
  #kindOfNext(): string | undefined {
    const { kind } = this.owner;
    return kind === undefined || this.#blocks === undefined ? kind : `${kind}, block ${this.#blocks.length}`;
  }

  /** Memory that samepage knows: by the object, or by its host address. */
  #known(block: OwnedBlock): Met | undefined {
    const { address, byteLength } = block;
    const kind = this.#kindOfNext();
    const place = kind === undefined ? undefined : findPlace(kind, this.owner.handle);
    const allocation = place?.allocation ?? (address === undefined ? undefined : findAllocation(address, byteLength));
    if (allocation === undefined) return undefined;
    const { block: known } = allocation;
    const start = place?.start ?? Number(address! - known.address!);
    if (start >= 0 && start + byteLength <= known.byteLength) return { block, allocation, start, isOthers: true };
    throw longerThan(known, start, byteLength, this.#target.context.api);
  }
}

function longerThan(known: OwnedBlock, start: number, byteLength: number, api: string): ArgumentError {
  const what = `it lies at bytes ${start} to ${start + byteLength} of memory known with ${known.byteLength}.`;
  return new ArgumentError(`block: ${what}`, { api, argument: "block" });
}

/** A block of the object. */
interface Met {
  readonly block: OwnedBlock;
  readonly allocation: Allocation;
  /** Where the block begins in that. */
  readonly start: number;
  /** True for memory that was known before. */
  readonly isOthers: boolean;
}
