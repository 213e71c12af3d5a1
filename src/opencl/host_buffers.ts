import type { Address } from "../../ffi/address.ts";
import { CL_MEM_USE_HOST_PTR } from "../../ffi/opencl/constants.ts";
import type { ClMem } from "../../ffi/opencl/handles.ts";
import type { Allocation } from "../core/allocation.ts";
import { throwAll } from "../core/errors.ts";
import type { Resource } from "../core/resource.ts";
import { type Undo, unwind } from "../core/undo.ts";
import type { OpenCLContext } from "./context.ts";
import { createBuffer, type RootBuffer } from "./tensor.ts";

/** What else than a buffer a `cl_mem` over host memory is to be. */
export interface HostImage {
  /** What it is, in words: maps of the same bytes as the same image share it. */
  readonly what: string;
  /** Makes it over the memory at an address. */
  create(address: Address, undo: Undo): ClMem;
}

/** A live `cl_mem` over a range of host memory, and how many maps share it. */
export interface HostBuffer extends RootBuffer {
  /** The address of its first byte. */
  readonly hostAddress: bigint;
  /** Its length in bytes. */
  readonly byteLength: number;
  /** What it is: `"a buffer"`, or which image. */
  readonly what: string;
  /** How many maps have it. */
  sharers: number;
  /** Those that write through it, from the first map to the last way back. */
  writers: Resource[];
  /** Its release. */
  readonly undo: Undo;
}

/** What a buffer is called among those over host memory. */
const BUFFER = "a buffer";

/** One object for each `cl_context`: what is kept for it is shared by all who are attached to it. */
const spaces = new Map<bigint, WeakRef<object>>();

/**
 * The buffers and images of one `cl_context` over host memory. Two over the same bytes are undefined in OpenCL
 * (clCreateBuffer, CL_MEM_USE_HOST_PTR), so a map within a live buffer shares it, and one that overlaps it in part, or
 * is to be something else, is impossible. An image is shared by maps of all of it.
 */
export class HostBuffers {
  readonly #context: OpenCLContext;
  readonly #space: object;

  /** Made by the context. */
  constructor(context: OpenCLContext) {
    this.#context = context;
    this.#space = spaces.get(context.rawHandle)?.deref() ?? {};
    spaces.set(context.rawHandle, new WeakRef(this.#space));
  }

  /** The live buffer that shares bytes with a range, if any. */
  find(allocation: Allocation, address: bigint, byteLength: number): HostBuffer | undefined {
    const live = allocation.findAttachment<HostBuffer[]>(this.#space);
    return live?.find((buffer) => buffer.hostAddress < address + BigInt(byteLength) && address < endOf(buffer));
  }

  /** True where a map of a range can share a live buffer, or a live image where it is to be that image. */
  covers(live: HostBuffer, address: bigint, byteLength: number, what: string = BUFFER): boolean {
    if (live.what !== what) return false;
    if (what !== BUFFER) return live.hostAddress === address && live.byteLength === byteLength;
    return live.hostAddress <= address && address + BigInt(byteLength) <= endOf(live);
  }

  /**
   * A buffer over exactly this range (or an image), or a share of the live one that covers it. Not a byte more: where
   * the driver moves bytes, it would write a neighbour's back.
   */
  acquire(allocation: Allocation, address: bigint, byteLength: number, undo: Undo, image?: HostImage): HostBuffer {
    const live = allocation.attachment<HostBuffer[]>(this.#space, () => []);
    const buffer = this.find(allocation, address, byteLength) ?? this.#create(address, byteLength, live, image);
    buffer.sharers++;
    undo.push(() => {
      if (--buffer.sharers > 0 || buffer.kept) return;
      live.splice(live.indexOf(buffer), 1);
      throwAll(unwind(buffer.undo), "releasing a buffer over host memory");
    });
    return buffer;
  }

  /**
   * A map that writes has it now. The ways back of those before it end before its own: NVIDIA's driver loses count where
   * maps of one range overlap in time.
   */
  write(buffer: HostBuffer, writer: Resource): void {
    buffer.writers = buffer.writers.filter(({ state }) => state !== "freed");
    for (const earlier of buffer.writers) {
      // One that lives has other bytes, or is what this one was mapped from: that end is its own.
      if (earlier.state !== "live") earlier.dependOn(writer);
    }
    buffer.writers.push(writer);
  }

  #create(hostAddress: bigint, byteLength: number, live: HostBuffer[], image: HostImage | undefined): HostBuffer {
    const undo: Undo = [];
    const address = hostAddress as Address;
    const mem = image === undefined
      ? createBuffer(this.#context, CL_MEM_USE_HOST_PTR, byteLength, address, undo)
      : image.create(address, undo);
    const what = image?.what ?? BUFFER;
    const buffer: HostBuffer = { mem, hostAddress, byteLength, what, hostWriters: 0, sharers: 0, writers: [], undo };
    live.push(buffer);
    return buffer;
  }
}

function endOf(buffer: HostBuffer): bigint {
  return buffer.hostAddress + BigInt(buffer.byteLength);
}
