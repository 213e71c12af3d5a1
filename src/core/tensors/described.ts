import { Printed } from "../printed.ts";
import type { MemoryTarget } from "../contract.ts";
import { Resource } from "../life/resource.ts";
import { type Access, covers } from "../memory/access.ts";
import type { Allocation } from "../memory/allocation.ts";
import type { Grant } from "../memory/grant.ts";
import type { FdFacts } from "../native/fd.ts";
import { nameOf, type Target } from "../graph/context.ts";
import type { FrameInfo } from "../layout/frame_info.ts";
import { sizeOf } from "../layout/dtype.ts";
import { describeLayout, type Layout, moved } from "../layout/layout.ts";
import type { Address } from "../../../ffi/address.ts";

/** What a route knows of one plane, which may not exist yet. */
export interface DescribedPlane {
  /** Where its elements lie, counted from its handle. */
  readonly layout: Layout;
  /** The host address of its first element, if it is known. To read it may map memory for the CPU. */
  readonly address?: bigint | undefined;
  /** The block it lies in. */
  readonly allocation: Allocation;
  /** Where its first element lies in that block, in bytes. */
  readonly start: number;
  /** What is known of its fds, if it has some. */
  readonly fd?: FdFacts | undefined;
}

/**
 * A plane whose address is found when it is read. A getter in an object of its own would give V8 another hidden class for
 * each object, which keeps the object until the next full collection.
 */
export class LatePlane implements DescribedPlane {
  readonly layout: Layout;
  readonly allocation: Allocation;
  readonly start: number;
  readonly fd?: FdFacts;
  readonly #find: () => bigint | undefined;

  constructor({ layout, allocation, start, fd }: DescribedPlane, find: () => bigint | undefined) {
    this.layout = layout;
    this.allocation = allocation;
    this.start = start;
    if (fd !== undefined) this.fd = fd;
    this.#find = find;
  }

  get address(): bigint | undefined {
    return this.#find();
  }
}

/** The same plane, with a layout that counts from another handle. */
export function laidOut(plane: DescribedPlane, layout: Layout): DescribedPlane {
  const { allocation, start } = plane;
  if (!("address" in plane)) return { layout, allocation, start };
  return new LatePlane({ layout, allocation, start }, () => plane.address);
}

/**
 * A plane of a frame: where it lies in the bytes of one of the frame's grants, what a route knows of it, and its end of life,
 * which is the frame's. It gets a resource of its own once something needs one, because most planes are only looked at, and
 * to make a resource takes longer than all else of a plane.
 */
export class PlacedPlane<H = unknown> extends Printed implements DescribedPlane {
  /** What its tensor is made with. */
  readonly handle: H;
  /** Where its elements lie, counted from the handle. */
  readonly layout: Layout;
  /** The frame's grant that it is a part of. */
  readonly grant: Grant;
  /** Where its first element lies in the allocation. */
  readonly start: number;
  /** Where it ends there. */
  readonly end: number;
  readonly #number: number;

  /** `number` is for messages. */
  constructor(handle: H, layout: Layout, grant: Grant, start: number, end: number, number: number) {
    super();
    this.handle = handle;
    this.layout = layout;
    this.grant = grant;
    this.start = start;
    this.end = end;
    this.#number = number;
  }

  /** Its name, for messages. */
  toString(): string {
    return `plane ${this.#number} of ${this.#whole.name}`;
  }

  /** The block it lies in. */
  get allocation(): Allocation {
    return this.grant.allocation;
  }

  /** The host address of its first element, if it is known without its tensor. */
  get address(): bigint | undefined {
    return (this.#whole.target as MemoryTarget).ports.addressOf?.(this);
  }

  /** How it may be used. */
  get access(): Access {
    return this.grant.access;
  }

  /** True if a use with this access conflicts with nothing: the frame is alive, and lends nothing. */
  isFree(access: Access): boolean {
    return this.#whole.isLive && this.grant.lendsNothing && covers(this.grant.access, access);
  }

  /** The end of life of this plane alone. Where the frame has ended, so has it. */
  resource(): Resource {
    const whole = this.#whole;
    const name = this.toString();
    const grants = [this.grant.facet(this.start, this.end, name)];
    const resource = new Resource({ name, grants, owners: [whole] });
    if (!whole.isLive) resource.endLate(whole);
    return resource;
  }

  /** The frame's. */
  get #whole(): Resource {
    return this.grant.resource!;
  }
}

/** A plane that ends with its last element. */
export function planeAt<H>(handle: H, layout: Layout, grant: Grant, start: number, number: number): PlacedPlane<H> {
  return new PlacedPlane(handle, layout, grant, start, start + layout.byteLength, number);
}

/** The end of life of an object that may be a plane of a frame. */
export function ownResource(life: Resource | PlacedPlane): Resource {
  return life instanceof PlacedPlane ? life.resource() : life;
}

/** The range of bytes that covers all planes of a tensor or frame; they lie in one block. */
export interface ByteRange {
  /** The planes, where they are those of a tensor or frame. */
  readonly planes?: readonly DescribedPlane[];
  /** The block. */
  readonly allocation: Allocation;
  /** Where the first byte lies in the block. */
  readonly start: number;
  /** The host address of the first byte, if it is known. To read it may map memory for the CPU. */
  readonly address: bigint | undefined;
  /** Bytes from the first plane's beginning to the last plane's end. */
  readonly byteLength: number;
}

/** What a route knows of a tensor or frame, which may not exist yet. */
export class Described extends Printed {
  /** The kind of memory, and its context. */
  readonly target: Target;
  /** How it may be used. */
  readonly access: Access;
  /** One for a tensor, one per plane for a frame. */
  readonly planes: readonly DescribedPlane[];
  /** A frame's description. */
  readonly info: FrameInfo | undefined;
  /** The native context that its handle belongs to (a `cl_context`), if the target has objects of several. */
  readonly home: bigint | undefined;
  #parts: readonly Described[] | undefined;
  #range: ByteRange | undefined;
  #hasGaps: boolean | undefined;

  /** `planes` has at least one. */
  constructor(target: Target, access: Access, planes: readonly DescribedPlane[], info?: FrameInfo, home?: bigint) {
    super();
    this.target = target;
    this.access = access;
    this.planes = planes;
    this.info = info;
    this.home = home;
    if (planes.length > 1 && !areOfOneBlock(planes)) {
      this.#parts = planes.map((plane) => new Described(target, access, [plane]));
    }
  }

  /** What lies where. */
  toString(): string {
    const planes = this.planes.map(({ layout }) => describeLayout(layout)).join(", ");
    return `description of ${nameOf(this.target)}, "${this.access}": ${planes}`;
  }

  /** A frame that was made of tensors, and holds none of their bytes itself. */
  static scattered(target: Target, access: Access, parts: readonly Described[], info?: FrameInfo): Described {
    const described = new Described(target, access, parts.flatMap(({ planes }) => planes), info);
    described.#parts = parts;
    return described;
  }

  /** Its planes, where they lie in several blocks or are tensors of their own; undefined where one range covers them. */
  get parts(): readonly Described[] | undefined {
    return this.#parts;
  }

  /** Each plane by itself. */
  get each(): readonly Described[] {
    const { target, access, home } = this;
    return this.#parts ?? this.planes.map((plane) => new Described(target, access, [plane], undefined, home));
  }

  /** Where the elements of each plane lie. */
  get layouts(): readonly Layout[] {
    const layouts = new Array<Layout>(this.planes.length);
    for (let i = 0; i < layouts.length; i++) layouts[i] = this.planes[i].layout;
    return layouts;
  }

  /** The range of bytes that it covers. */
  get range(): ByteRange {
    return this.#range ??= new BoundingRange(this.planes);
  }

  /** True where there are bytes between its elements that are not its own. A copy of the range carries them as well. */
  get hasGaps(): boolean {
    return this.#hasGaps ??= ownBytesOf(this.planes) < this.range.byteLength;
  }

  /** The same bytes at the same place, as a tensor of another target. */
  as(target: Target, access: Access): Described {
    const other = new Described(target, access, this.planes, this.info);
    other.#range = this.#range;
    return other;
  }

  /** The same without a host address (a copy, a device's own object). */
  withoutAddress(target: Target, access: Access): Described {
    const planes = this.planes.map(({ layout, allocation, start }) => ({ layout, allocation, start }));
    return new Described(target, access, planes, this.info);
  }
}

// Loops, here and below: every map of a frame comes by, and makes its description anew.

function areOfOneBlock(planes: readonly DescribedPlane[]): boolean {
  for (let i = 1; i < planes.length; i++) if (planes[i].allocation !== planes[0].allocation) return false;
  return true;
}

/** Elements do not overlap. */
function ownBytesOf(planes: readonly DescribedPlane[]): number {
  let sum = 0;
  for (const { layout: { shape, dtype } } of planes) {
    let bytes = sizeOf(dtype);
    for (const count of shape) bytes *= count;
    sum += bytes;
  }
  return sum;
}

/** The range of bytes that covers planes of one block. */
export class BoundingRange implements ByteRange {
  readonly planes: readonly DescribedPlane[];
  readonly allocation: Allocation;
  readonly start: number;
  readonly byteLength: number;
  readonly #first: DescribedPlane;

  constructor(planes: readonly DescribedPlane[]) {
    let first = planes[0];
    let end = 0;
    for (let i = 0; i < planes.length; i++) {
      const plane = planes[i];
      if (plane.start < first.start) first = plane;
      end = Math.max(end, plane.start + plane.layout.byteLength);
    }
    this.planes = planes;
    this.allocation = first.allocation;
    this.start = first.start;
    this.byteLength = end - first.start;
    this.#first = first;
  }

  /** A block is one piece of memory: where the CPU sees its first plane, it sees all, as far apart as in the block. */
  get address(): bigint | undefined {
    return this.#first.address;
  }
}

export interface Place {
  readonly handle: Address;
  readonly layout: Layout;
}

interface Addressed {
  readonly address: Address;
  readonly layout: Layout;
}

export function firstAddress(planes: readonly Addressed[]): Address {
  return planes.reduce((least, { address }) => address < least ? address : least, planes[0].address);
}

/** The place of a plane in a target whose `handle` is the address `first`. */
export function placed({ address, layout }: Addressed, handle: Address, first: Address): Place {
  return { handle, layout: moved(layout, Number(address - first)) };
}

/** The planes, with layouts from their first elements. */
export function planesFromZero({ planes }: Described): readonly DescribedPlane[] {
  const [plane] = planes;
  return plane.layout.byteOffset === 0 ? planes : [laidOut(plane, moved(plane.layout, 0))];
}
