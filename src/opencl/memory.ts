import { type Address, NULL } from "../../ffi/address.ts";
import {
  CL_FALSE,
  CL_MAP_READ,
  CL_MAP_WRITE,
  CL_MAP_WRITE_INVALIDATE_REGION,
  CL_TRUE,
} from "../../ffi/opencl/constants.ts";
import { CL_INVALID_VALUE } from "../../ffi/opencl/errors.ts";
import type { ClMem } from "../../ffi/opencl/handles.ts";
import type { Access } from "../core/memory/access.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import type { ByteRange } from "../core/tensors/described.ts";
import type { Call } from "../core/device/driver.ts";
import type { Line } from "../core/device/line.ts";
import type { MemoryClass } from "../core/device/proofs.ts";
import { Frame } from "../core/tensors/frame.ts";
import { type Layout, moved } from "../core/layout/layout.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { type GiveBack, Resource } from "../core/life/resource.ts";
import type { Undo } from "../core/life/undo.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import type { OpenCLContext } from "./context.ts";
import { errcode } from "./errors.ts";
import { classAt } from "./alias/memory.ts";
import { adoptedBuffer } from "./buffers/attached.ts";
import { driverBufferOf } from "./buffers/driver_buffers.ts";
import { MARKER } from "./driver.ts";
import { type HostBuffer, HostBuffers } from "./buffers/host_buffers.ts";
import type { ClLane } from "./lane.ts";
import { opencl } from "./library.ts";
import { type BufferPart, OpenCLTensor, partOf, retainBuffer, type RootBuffer } from "./tensor.ts";

/**
 * The flags of clEnqueueMapBuffer, clEnqueueMapImage and clEnqueueSVMMap.
 *
 * @param exact true if the range has no gaps, so that every byte will be written. Gaps have to be fetched, because the
 * unmap writes them back.
 */
export function mapFlags(access: Access, exact: boolean): bigint {
  if (access === "read") return CL_MAP_READ;
  if (access === "read-write") return CL_MAP_READ | CL_MAP_WRITE;
  return exact ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_WRITE;
}

/** A range of memory mapped for the host. For those who write mappers. */
export class MappedRange {
  /** The host address that the driver returned. */
  readonly address: Address;
  readonly #line: Line<ClLane>;
  readonly #unmap: () => Call<ClLane> | undefined;

  /** `unmap` returns the call that ends it, once; undefined if another map shares the range. */
  constructor(line: Line<ClLane>, address: Address, unmap: () => Call<ClLane> | undefined) {
    this.address = address;
    this.#line = line;
    this.#unmap = unmap;
  }

  /** The commands that return it to the device. */
  get giveBack(): GiveBack {
    return { line: this.#line, step: (step) => step === 0 ? this.#unmap() : undefined };
  }

  /** Returns it to the device, and blocks until that is done. */
  end(): void {
    const call = this.#unmap();
    if (call !== undefined) this.#line.submitRaw(call).waitSync();
  }
}

/** A call that maps memory. */
export interface MapCall extends Call<ClLane> {
  /** The host address, once the call was made. */
  address: Address;
  /** The call that unmaps it, once the call was made. */
  unmap?: Call<ClLane>;
}

/** The memory of one context: buffers over host memory, maps, and tensors over either. For those who write mappers. */
export class OpenCLMemory {
  /** Its buffers over host memory. */
  readonly hostBuffers: HostBuffers;
  readonly #context: OpenCLContext;

  /** Made by the context. */
  constructor(context: OpenCLContext) {
    this.#context = context;
    this.hostBuffers = new HostBuffers(context);
  }

  /**
   * The class of host memory of this address and length behind a buffer; without an address, of the driver's own memory.
   *
   * @throws {ArgumentError} for an address that is no bigint, or a length that is no whole number.
   */
  classOf(address: bigint | undefined, byteLength: number): MemoryClass<OpenCLContext> {
    return classAt(address, byteLength);
  }

  /** The buffer of a described range; undefined if it does not exist yet. */
  bufferOf(range: ByteRange): RootBuffer | undefined {
    return driverBufferOf(range.allocation) ?? this.hostBuffers.find(range);
  }

  /**
   * The buffer of another API's allocation, by the handle that API gives.
   *
   * @throws {ArgumentError} if the handle is of another context, or of a part of another buffer.
   */
  adopt(allocation: Allocation, mem: bigint): RootBuffer {
    return adoptedBuffer(this.#context, allocation, mem as ClMem);
  }

  /** Retains a `cl_mem` for good: an unknown owner still uses it. */
  keep(mem: bigint): void {
    retainBuffer(mem as ClMem, []);
  }

  /** The commands that return a range which the device wrote. @see {@link publication} */
  publish(mem: ClMem, offset: number, length: number, aliases: boolean): GiveBack {
    return publication(this.#context, aliases, () => mapBuffer(mem, false, CL_MAP_READ, offset, length));
  }

  /**
   * Maps a range of a buffer for the host; blocks.
   *
   * @param exact see {@link mapFlags}
   * @throws {AccessError} if it would wait for an unsettled promise.
   * @throws {NativeCallError} clEnqueueMapBuffer's.
   */
  map(mem: ClMem, access: Access, offset: number, length: number, exact = false): MappedRange {
    const map = mapBuffer(mem, true, mapFlags(access, exact), offset, length);
    const { line } = this.#context.queue;
    line.submitRaw(map);
    return new MappedRange(line, map.address, () => map.unmap);
  }

  /** The offset in its own `cl_mem` of a part that begins `begin` bytes into a root buffer: see {@link part}. */
  offsetOf(begin: number): number {
    return begin % this.#context.subBufferAlign === 0 ? 0 : begin;
  }

  /** The tensor of a part of a root buffer that begins `begin` bytes into it. */
  tensor(resource: Resource, root: RootBuffer, part: BufferPart, parent: Mapped): OpenCLTensor {
    const { handle, origin, layout } = part;
    return new OpenCLTensor({ target: this.#context, resource, root, parent, handle, origin, layout });
  }

  /** The offset of a root buffer in its allocation. */
  startOf(root: RootBuffer): number {
    return "start" in root ? (root as HostBuffer).start : 0;
  }

  /** The part of a root buffer that a layout covers from `begin` on; a sub-buffer goes on the undo list. */
  part(root: RootBuffer, begin: number, at: Layout, undo: Undo): BufferPart {
    return partOf(this.#context, root.mem, 0, moved(at, begin), undo);
  }

  /** The frame of parts of one root buffer; `resource` holds its bytes. */
  frame(
    resource: Resource,
    root: RootBuffer,
    parts: readonly BufferPart[],
    of: Frame<Tensor>,
  ): Frame<OpenCLTensor> {
    const grant = resource.grants[0];
    const first = Math.min(...parts.map((part) => part.origin + part.layout.byteOffset));
    return new Frame<OpenCLTensor>({
      target: this.#context,
      resource,
      parent: of,
      info: of.info,
      metadata: of.metadata,
      planes: (frame) =>
        parts.map((part, i) => {
          const name = `plane ${i} of ${resource.name}`;
          const start = grant.start + part.origin + part.layout.byteOffset - first;
          const facet = grant.facet(start, start + part.layout.byteLength, name);
          const plane = new Resource({ name, grants: [facet], owners: [resource] });
          return this.tensor(plane, root, part, frame);
        }),
    });
  }
}

/** The call that maps a range of a buffer. */
export function mapBuffer(mem: ClMem, blocks: boolean, flags: bigint, offset: number, length: number): MapCall {
  const [begin, size] = [BigInt(offset), BigInt(length)];
  const map: MapCall = {
    fn: "clEnqueueMapBuffer",
    blocks,
    address: NULL,
    call({ queue, waitCount, waitList, slot }) {
      const blocking = blocks ? CL_TRUE : CL_FALSE;
      const { clEnqueueMapBuffer } = opencl();
      map.address = clEnqueueMapBuffer(queue, mem, blocking, flags, begin, size, waitCount, waitList, slot, errcode);
      if (errcode[0] === 0) map.unmap = unmapOf(mem, map.address);
      return errcode[0];
    },
  };
  return map;
}

/**
 * Publishes what the device wrote: by OpenCL's rule the host sees it once it is mapped. The unmap follows when the map is
 * done, because rusticl 22.3 refuses it earlier. Memory that `aliases` the host's and was never used has nothing to
 * publish.
 *
 * A map fails with what it stands behind (a promise that rejects). What the device had written by then comes back all the
 * same: both are submitted once more, when there is nothing left to wait for.
 */
export function publication({ queue: { line } }: OpenCLContext, aliases: boolean, map: () => MapCall): GiveBack {
  let mapped: MapCall | undefined;
  let mark = 0;
  const hasFailed = () => line.failureAt(mark) !== undefined;
  return {
    line,
    step(step, used) {
      const isUnmap = step % 2 === 1;
      if (isUnmap) return hasFailed() ? unmapOfFailed(mapped?.unmap) : mapped?.unmap;
      if (step === 0 ? !used && aliases : step > 2 || !hasFailed()) return undefined;
      mark = line.submitted + 1;
      return mapped = map();
    },
  };
}

/** To rusticl 22.3 a map that failed is none, and its unmap CL_INVALID_VALUE. */
function unmapOfFailed(unmap: Call<ClLane> | undefined): Call<ClLane> | undefined {
  if (unmap === undefined) return undefined;
  const call = (lane: ClLane) => {
    const code = unmap.call(lane);
    return code === CL_INVALID_VALUE ? MARKER.call(lane) : code;
  };
  return { fn: unmap.fn, call };
}

/** A live map at an address. */
interface MappedAt {
  readonly mem: ClMem;
  /** True once another map of the same memory at the same address was unmapped. */
  overtaken: boolean;
}

const mappedAt = new Map<Address, MappedAt[]>();

/**
 * The call that unmaps the range just mapped at an address, once.
 *
 * Several maps of one `cl_mem` may begin at the same byte. To NVIDIA's driver (580.159) they are one: the first unmap ends
 * them all, and it refuses the next with CL_INVALID_VALUE. At most one of them writes, so nothing is lost: a marker
 * replaces the refused call.
 */
export function unmapOf(mem: ClMem, address: Address): Call<ClLane> {
  const own: MappedAt = { mem, overtaken: false };
  const there = mappedAt.get(address);
  if (there === undefined) mappedAt.set(address, [own]);
  else there.push(own);
  return {
    fn: "clEnqueueUnmapMemObject",
    call(lane) {
      const others = mappedAt.get(address)!.filter((one) => one !== own);
      if (others.length === 0) mappedAt.delete(address);
      else mappedAt.set(address, others);
      const { queue, waitCount, waitList, slot } = lane;
      const code = opencl().clEnqueueUnmapMemObject(queue, mem, address, waitCount, waitList, slot);
      if (code === CL_INVALID_VALUE && own.overtaken) return MARKER.call(lane);
      if (code === 0) { for (const other of others) other.overtaken ||= other.mem === mem; }
      return code;
    },
  };
}
