import type { Access } from "../memory/access.ts";
import type { Allocation } from "../memory/allocation.ts";
import type { Target } from "../graph/context.ts";
import type { FrameInfo } from "../layout/frame_info.ts";
import type { Layout } from "../layout/layout.ts";

/** What a route can know of one plane that may not exist yet. */
export interface DescribedPlane {
  /** Where its elements lie, counted from its handle. */
  readonly layout: Layout;
  /** The host address of its first element, where it has one that is known. */
  readonly address?: bigint;
  /** The block it lies in. */
  readonly allocation: Allocation;
  /** Where its first element lies in that block, in bytes. */
  readonly start: number;
}

/** The bounding range of all planes of a tensor or frame, which lie in one block. */
export interface ByteRange {
  /** The block. */
  readonly allocation: Allocation;
  /** Where the first byte lies in the block. */
  readonly start: number;
  /** The host address of the first byte, where it is known. */
  readonly address: bigint | undefined;
  /** From the first byte of any plane to the last of any. */
  readonly byteLength: number;
}

/** What a route can know of a tensor or frame that may not exist yet: for those who write mappers. */
export class Described {
  /** The kind of memory, and its context. */
  readonly target: Target;
  /** What it may be used for. */
  readonly access: Access;
  /** One for a tensor; one a plane for a frame. */
  readonly planes: readonly DescribedPlane[];
  /** For a frame: what it is. */
  readonly info: FrameInfo | undefined;
  /** The native context that its handle belongs to (a `cl_context`), where the target has objects of several. */
  readonly home: bigint | undefined;
  #range: ByteRange | undefined;

  /** `planes` has one at least. */
  constructor(target: Target, access: Access, planes: readonly DescribedPlane[], info?: FrameInfo, home?: bigint) {
    this.target = target;
    this.access = access;
    this.planes = planes;
    this.info = info;
    this.home = home;
  }

  /** The range that it covers. */
  get range(): ByteRange {
    return this.#range ??= boundingRange(this.planes);
  }

  /** The same bytes at the same place, as another target would have them. */
  as(target: Target, access: Access): Described {
    const other = new Described(target, access, this.planes, this.info);
    other.#range = this.#range;
    return other;
  }

  /** The same where no address of the host's is known of it (a copy, a device's own object): for those who write mappers. */
  withoutAddress(target: Target, access: Access): Described {
    const planes = this.planes.map(({ layout, allocation, start }) => ({ layout, allocation, start }));
    return new Described(target, access, planes, this.info);
  }
}

function boundingRange(planes: readonly DescribedPlane[]): ByteRange {
  let first = planes[0];
  let end = 0;
  for (const plane of planes) {
    if (plane.start < first.start) first = plane;
    end = Math.max(end, plane.start + plane.layout.byteLength);
  }
  const known = planes.every((plane) => plane.address !== undefined);
  const { allocation, start } = first;
  return { allocation, start, address: known ? first.address : undefined, byteLength: end - start };
}
