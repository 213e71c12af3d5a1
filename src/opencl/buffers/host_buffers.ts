import type { Address } from "../../../ffi/address.ts";
import { CL_MEM_USE_HOST_PTR } from "../../../ffi/opencl/constants.ts";
import type { ClContext, ClMem } from "../../../ffi/opencl/handles.ts";
import type { ByteRange } from "../../core/tensors/described.ts";
import type { Resource } from "../../core/life/resource.ts";
import { type Undo, undoAll } from "../../core/life/undo.ts";
import type { Grant } from "../../core/memory/grant.ts";
import { takeOut } from "../../core/memory/peers.ts";
import { type Placed, Ranges } from "../../core/memory/ranges.ts";
import type { BufferLimits } from "./limits.ts";
import { checks } from "../check.ts";
import { newBuffer, releaseBuffer, retainBuffer } from "./native.ts";
import type { Space } from "./space.ts";
import type { RootBuffer } from "./tensor.ts";

/** An image over host memory. */
export interface HostImage {
  /** Its description: maps of the same bytes as the same image share it. */
  readonly what: string;
  /** Makes it over the memory at an address. */
  create(address: Address, undo: Undo): ClMem;
}

/** A live `cl_mem` over a range of host memory, and the maps that share it. */
export interface HostBuffer extends RootBuffer {
  /** The address of its first byte. */
  readonly hostAddress: bigint;
  /** Its offset in its allocation. */
  readonly start: number;
  /** Its length in bytes. */
  readonly byteLength: number;
  /** Its description: `"a buffer"`, or the image. */
  readonly what: string;
  /** The maps that share it. */
  shares: Share[];
  /** The bytes that ended maps returned, first to last. Others may have written there since. */
  returned: { readonly start: number; readonly end: number } | undefined;
  /** The maps that write through it. */
  writers: Resource[];
  /** Its release; undefined for a buffer made here, which is a `cl_mem` and nothing else. */
  readonly release: Undo | undefined;
  /** The live buffers of its allocation. */
  readonly live: Ranges<HostBuffer>;
  /** Its place among them. */
  place: Placed<HostBuffer> | undefined;
}

/** One map's share of a live `cl_mem`. */
export interface Share {
  /** The buffer. */
  readonly buffer: HostBuffer;
  /** The map's end of life; set once that is made. */
  holder: Resource | undefined;
  /** Its index among the buffer's shares. */
  place: number;
}

const NONE: readonly HostBuffer[] = [];
const NO_GRANTS: readonly Grant[] = [];

const BUFFER = "a buffer";

/**
 * The buffers and images of one `cl_context` over host memory. Two over the same bytes are undefined in OpenCL
 * (clCreateBuffer, CL_MEM_USE_HOST_PTR). So a map within a live buffer shares it; a map that overlaps it in part, or as an
 * image, is impossible. Maps of a whole image share it. For mappers.
 */
export class HostBuffers {
  readonly #context: ClContext;
  readonly #space: Space;

  /** Made by the context. */
  constructor(context: ClContext, space: Space) {
    this.#context = context;
    this.#space = space;
  }

  /** A live buffer that shares bytes with a range, if any. If one covers the range, there is no other. */
  find(range: ByteRange): HostBuffer | undefined {
    return this.overlapping(range)[0];
  }

  /** The live buffer that covers a range, if any: no image. */
  covering(range: ByteRange): HostBuffer | undefined {
    const live = this.find(range);
    return live !== undefined && this.shares(live, range) ? live : undefined;
  }

  /** All live buffers that share bytes with a range. */
  overlapping(range: ByteRange): readonly HostBuffer[] {
    const live = range.allocation.findAttachment<Ranges<HostBuffer>>(this.#space.host);
    return live === undefined || live.size === 0 ? NONE : overlappingOf(live, range);
  }

  /** True if all maps of a buffer are on their way back: the buffer will end without help. */
  isReturning({ shares }: HostBuffer): boolean {
    return shares.length > 0 && shares.every(({ holder }) => holder?.onTheWayBack);
  }

  /**
   * Ends the maps on their way back whose work is over. A newer map that has ended may stand for them, and the host may have
   * written since: what the device keeps of these bytes is old.
   */
  endThoseOver(range: ByteRange): void {
    for (const { shares } of this.overlapping(range)) {
      for (const { holder } of [...shares]) if (holder?.onTheWayBack) holder.settleIfOver();
    }
  }

  /** Blocks until the maps of these buffers have ended. @throws {AccessError} if that could never happen. */
  settle(buffers: readonly HostBuffer[]): void {
    for (const { shares } of buffers) for (const { holder } of [...shares]) holder?.settle();
  }

  /** True if a map of a range can share a live buffer, or the live image that it asks for. */
  shares(live: HostBuffer, { start, byteLength }: ByteRange, what: string = BUFFER): boolean {
    if (live.what !== what) return false;
    if (what !== BUFFER) return live.start === start && live.byteLength === byteLength;
    return live.start <= start && start + byteLength <= live.start + live.byteLength;
  }

  /** True if others may have written to a range since the buffer was made: no single map has held all of it since. */
  isOld({ shares, returned }: HostBuffer, { start, byteLength }: ByteRange): boolean {
    const end = start + byteLength;
    if (returned === undefined || returned.start >= end || start >= returned.end) return false;
    for (const { holder } of shares) {
      if (holder?.grants.some((grant) => grant.start <= start && end <= grant.end)) return false;
    }
    return true;
  }

  /**
   * A share of the live buffer (or image) that covers a range, or of a new one over exactly this range of known address.
   * Not a byte more, because a driver that moves bytes would write a neighbour's back.
   */
  acquire(range: ByteRange, live: HostBuffer | undefined, undo: Undo, image?: HostImage): Share {
    return share(live ?? this.#create(range, image), undo);
  }

  /**
   * A share of the buffer that other code made over exactly this range. It is retained while it has shares.
   *
   * @throws {ArgumentError} if another buffer is live over any of these bytes.
   */
  attach(range: ByteRange, mem: ClMem, limits: BufferLimits | undefined, undo: Undo): Share {
    const live = this.#live(range);
    this.settle(this.overlapping(range).filter((buffer) => buffer.mem !== mem && this.isReturning(buffer)));
    const known = this.find(range);
    if (known !== undefined && known.mem !== mem) {
      throw checks.wrong(
        "handle",
        "another buffer is in use over the same host memory: that is undefined in OpenCL.",
        "Dispose what is mapped of that memory first.",
      );
    }
    if (known !== undefined) return share(known, undo);
    const release: Undo = [];
    retainBuffer(mem, release);
    return share(added(range, mem, limits, live, release), undo);
  }

  /** Earlier maps return their bytes first: NVIDIA's driver miscounts maps of one range that overlap in time. */
  write(buffer: HostBuffer, writer: Resource): void {
    // A literal allocates room for one; a push for seventeen.
    if (buffer.writers.length === 0) return void (buffer.writers = [writer]);
    const unfinished = buffer.writers.filter(({ state }) => state !== "freed");
    for (const earlier of unfinished) {
      // A live one has other bytes, or is the source of this map: it ends later anyway.
      if (earlier.state !== "live") earlier.dependOn(writer);
    }
    buffer.writers = [...unfinished, writer];
  }

  /**
   * A second `cl_mem` over memory that has one, with another beginning. Two are undefined in OpenCL, because a driver might
   * keep a copy for each: only for memory that the device provably uses in place. Its release goes on the undo list.
   */
  another(address: bigint, byteLength: number, undo: Undo): ClMem {
    const mem = newBuffer(this.#context, CL_MEM_USE_HOST_PTR, byteLength, address as Address);
    undo.push(() => releaseBuffer(mem));
    return mem;
  }

  #live(range: ByteRange): Ranges<HostBuffer> {
    return range.allocation.attachment<Ranges<HostBuffer>>(this.#space.host, () => new Ranges());
  }

  #create(range: ByteRange, image: HostImage | undefined): HostBuffer {
    const live = this.#live(range);
    const address = range.address as Address;
    if (image === undefined) {
      const mem = newBuffer(this.#context, CL_MEM_USE_HOST_PTR, range.byteLength, address);
      return added(range, mem, undefined, live);
    }
    const undo: Undo = [];
    return added(range, image.create(address, undo), undefined, live, undo, image.what);
  }
}

function added(
  { start, address, byteLength }: ByteRange,
  mem: ClMem,
  limits: BufferLimits | undefined,
  live: Ranges<HostBuffer>,
  release?: Undo,
  what: string = BUFFER,
): HostBuffer {
  const buffer: HostBuffer = {
    mem,
    what,
    hostAddress: address!,
    start,
    byteLength,
    limits,
    hostWriters: 0,
    shares: [],
    returned: undefined,
    writers: [],
    release,
    live,
    place: undefined,
  };
  buffer.place = live.add(buffer, start, start + byteLength, false);
  return buffer;
}

function end({ mem, live, place, release }: HostBuffer): void {
  live.delete(place!);
  if (release === undefined) releaseBuffer(mem);
  else undoAll(release, "releasing a buffer over host memory");
}

function overlappingOf(live: Ranges<HostBuffer>, { start, address, byteLength }: ByteRange): readonly HostBuffer[] {
  const found: HostBuffer[] = [];
  live.some(start, start + byteLength, "all", (buffer) => {
    if (isAt(buffer, start, address)) found.push(buffer);
    return false;
  });
  return found;
}

function share(buffer: HostBuffer, undo: Undo): Share {
  const share: Share = { buffer, holder: undefined, place: buffer.shares.length };
  if (buffer.shares.length === 0) buffer.shares = [share];
  else buffer.shares.push(share);
  undo.push(() => {
    takeOut(buffer.shares, share);
    for (const { start, end } of share.holder?.grants ?? NO_GRANTS) {
      const { returned = { start, end } } = buffer;
      buffer.returned = { start: Math.min(returned.start, start), end: Math.max(returned.end, end) };
    }
    if (buffer.shares.length === 0 && !buffer.kept) end(buffer);
  });
  return share;
}

function isAt(buffer: HostBuffer, start: number, address: bigint | undefined): boolean {
  return address === undefined || buffer.hostAddress + BigInt(start - buffer.start) === address;
}
