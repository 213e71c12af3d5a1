import type { ClMem } from "../../ffi/opencl/handles.ts";
import type { Access } from "../core/memory/access.ts";
import { type ByteRange, Described, laidOut, planeAt } from "../core/tensors/described.ts";
import type { MemoryClass } from "../core/device/proofs.ts";
import { Frame } from "../core/tensors/frame.ts";
import { type Layout, moved } from "../core/layout/layout.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import type { Resource } from "../core/life/resource.ts";
import type { Undo } from "../core/life/undo.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import { classAt } from "./alias/memory.ts";
import type { BaseContext } from "./base_context.ts";
import { adoptedBuffer } from "./buffers/attached.ts";
import { type DriverBuffer, driverBufferOf } from "./buffers/driver_buffers.ts";
import { type HostBuffer, HostBuffers } from "./buffers/host_buffers.ts";
import { type BufferPart, partOf, retainBuffer } from "./buffers/native.ts";
import { type Space, spaceOf } from "./buffers/space.ts";
import type { RootBuffer } from "./buffers/tensor.ts";
import { OpenCLTensor } from "./tensor.ts";

/** A buffer, and where bytes begin in it: the two are found together, so that they fit. */
export interface InBuffer {
  /** The buffer; it is not a sub-buffer. */
  readonly root: RootBuffer;
  /** Where the bytes begin in it. */
  readonly offset: number;
}

/** The memory of one context: buffers over host memory, maps, and tensors over either. For mappers. */
export class OpenCLMemory {
  /** Its buffers over host memory. */
  readonly hostBuffers: HostBuffers;
  /** The keys of what allocations keep for its `cl_context`. */
  readonly space: Space;
  readonly #context: BaseContext;

  /** Made by the context. */
  constructor(context: BaseContext) {
    this.#context = context;
    this.space = spaceOf(context.rawHandle);
    this.hostBuffers = new HostBuffers(context.rawHandle, this.space);
  }

  /**
   * The class of host memory of this address and length behind a buffer; without an address, of the driver's own memory.
   *
   * @throws {ArgumentError} for an address that is not a bigint, or a length that is not a whole number.
   */
  classOf(address: bigint | undefined, byteLength: number): MemoryClass<BaseContext> {
    return classAt(address, byteLength);
  }

  /**
   * The buffer of this `cl_context` that has a range, and where the range begins in it; undefined if it does not exist
   * yet. A range of known address lies in host memory, any other in the driver's.
   */
  find(range: ByteRange): InBuffer | undefined {
    const root = range.address === undefined
      ? driverBufferOf(this.space, range.allocation)
      : this.hostBuffers.covering(range);
    return root && within(root, range);
  }

  /**
   * The same of a range of another API's, which names the buffer by its handle.
   *
   * @throws {ArgumentError} if the handle is of another context, or of a part of another buffer.
   */
  adopt(range: ByteRange, mem: bigint): InBuffer {
    return within(adoptedBuffer(this.#context, range.allocation, mem as ClMem), range);
  }

  /** Retains a `cl_mem` for good: an unknown owner still uses it. */
  keep(mem: bigint): void {
    retainBuffer(mem as ClMem, []);
  }

  /** A source as this context has it, in a buffer that begins at byte `start` of the source's allocation. */
  describe(source: Described, access: Access, start: number): Described {
    const { planes, info } = source;
    const cl = this.#context;
    const offsets = planes.map((plane) => (plane.start - start) % cl.subBufferAlign === 0 ? 0 : plane.start - start);
    if (planes.every(({ layout }, i) => layout.byteOffset === offsets[i])) return source.as(cl, access);
    const placed = planes.map((plane, i) => laidOut(plane, moved(plane.layout, offsets[i])));
    return new Described(cl, access, placed, info);
  }

  /** The tensor of a part of a root buffer that begins `begin` bytes into it. */
  tensor(resource: Resource, root: RootBuffer, part: BufferPart, parent: Mapped): OpenCLTensor {
    const { handle, origin, layout } = part;
    return new OpenCLTensor({ target: this.#context, resource, root, parent, handle, origin, layout });
  }

  /** The part of a root buffer that a layout covers from `begin` on; a sub-buffer goes on the undo list. */
  part(root: RootBuffer, begin: number, at: Layout, undo: Undo): BufferPart {
    return partOf(this.#context, root.mem, begin, at, undo);
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
          const start = grant.start + part.origin + part.layout.byteOffset - first;
          return this.tensor(planeAt(root, part.layout, grant, start, i).resource(), root, part, frame);
        }),
    });
  }
}

function within(root: DriverBuffer | HostBuffer, { start }: ByteRange): InBuffer {
  return { root, offset: start - root.start };
}
