import type { Address } from "../../ffi/address.ts";
import { CL_BUFFER_CREATE_TYPE_REGION, CL_MEM_READ_WRITE } from "../../ffi/opencl/constants.ts";
import type { ClMem } from "../../ffi/opencl/handles.ts";
import { cl_buffer_region, writeClBufferRegion } from "../../ffi/opencl/structs.ts";
import type { MemoryClass } from "../core/device/proofs.ts";
import type { Layout, LayoutInit } from "../core/layout/layout.ts";
import { moved } from "../core/layout/layout.ts";
import { ledger } from "../core/life/ledger.ts";
import { Resource } from "../core/life/resource.ts";
import type { Undo } from "../core/life/undo.ts";
import { type Part, type SliceOptions, Tensor, type TensorInit } from "../core/tensors/tensor.ts";
import type { BufferLimits } from "./buffers/limits.ts";
import type { OpenCLContext } from "./context.ts";
import { check, errcode, made } from "./errors.ts";
import { opencl } from "./library.ts";

/** A buffer that is not a sub-buffer; the tensors over it share this. */
export interface RootBuffer {
  /** The `cl_mem`. */
  readonly mem: ClMem;
  /** The host address of its first byte, if it lies in host memory (CL_MEM_USE_HOST_PTR). */
  readonly hostAddress: bigint | undefined;
  /** The number of maps through which the CPU writes to it now. A device with its own copy sees the bytes when they end. */
  hostWriters: number;
  /** True once a view over a map of driver memory has escaped: the buffer is never released. */
  kept?: boolean;
  /** The limits of its flags; undefined if they forbid nothing. */
  readonly limits?: BufferLimits | undefined;
  /** The class of its memory, if it is neither host memory nor the driver's default. */
  readonly memoryClass?: MemoryClass<OpenCLContext> | undefined;
}

/** What an OpenCL tensor is made of. */
export interface OpenCLTensorInit extends TensorInit<ClMem> {
  /** The root buffer of its bytes. */
  readonly root: RootBuffer;
  /** The handle's offset in the root: 0 unless the handle is a sub-buffer. */
  readonly origin: number;
  /** The limits of the handle's flags, if it is a sub-buffer with more limits than its root. */
  readonly limits?: BufferLimits | undefined;
}

/** A part of a buffer: a sub-buffer if its alignment allows one, else the root and an offset. */
export interface BufferPart {
  /** The handle for kernel arguments. */
  readonly handle: ClMem;
  /** Its offset in the root. */
  readonly origin: number;
  /** The layout, counted from the handle. */
  readonly layout: Layout;
}

/** Memory that an OpenCL device sees. Its handle is the `cl_mem`. */
export class OpenCLTensor extends Tensor<ClMem> {
  /** The root buffer of its bytes. */
  readonly root: RootBuffer;
  /** The handle's offset in the root. */
  readonly origin: number;
  /** The limits of the buffer's flags; undefined if they forbid nothing. */
  readonly limits: BufferLimits | undefined;

  /** Takes the resource over. */
  constructor(init: OpenCLTensorInit) {
    super(init);
    this.root = init.root;
    this.origin = init.origin;
    this.limits = init.limits ?? init.root.limits;
  }

  /** Its context. */
  get context(): OpenCLContext {
    return this.target.context as OpenCLContext;
  }

  /** The offset of its first element in the root, in bytes. */
  get rootOffset(): number {
    return this.origin + this.layout.byteOffset;
  }

  /** Lends a part as a child: a sub-buffer if its alignment allows one. @see {@link Tensor.slice} */
  override slice(layout: Layout | LayoutInit, options: SliceOptions = {}): OpenCLTensor {
    return super.slice(layout, options) as OpenCLTensor;
  }

  /** The host address of its first element, if it lies in host memory (CL_MEM_USE_HOST_PTR). */
  protected override get hostAddress(): bigint | undefined {
    const { hostAddress } = this.root;
    return hostAddress === undefined ? undefined : hostAddress + BigInt(this.rootOffset);
  }

  /** Makes the tensor of a part that was lent. */
  protected derive(part: Part): OpenCLTensor {
    const undo: Undo = [];
    const { handle, origin, layout } = partOf(this.context, this.root.mem, this.origin, part.layout, undo);
    const resource = new Resource({ name: part.name, grants: [part.grant], owners: [this.resource], undo });
    const { target, root, limits } = this;
    return new OpenCLTensor({ target, handle, layout, resource, parent: this, root, origin, limits });
  }
}

/**
 * The handle of a part that begins `origin + at.byteOffset` bytes into a root buffer: a sub-buffer if
 * CL_DEVICE_MEM_BASE_ADDR_ALIGN allows one, else the root with a byte offset.
 */
export function partOf(context: OpenCLContext, root: ClMem, origin: number, at: Layout, undo: Undo): BufferPart {
  const begin = origin + at.byteOffset;
  const offset = context.memory.offsetOf(begin);
  if (begin === 0 || offset !== 0) return { handle: root, origin: 0, layout: moved(at, offset) };
  const region = new DataView(new ArrayBuffer(cl_buffer_region.size));
  writeClBufferRegion(region, 0, { origin: BigInt(begin), size: BigInt(at.byteLength) });
  const handle = own(
    made(opencl().clCreateSubBuffer(root, 0n, CL_BUFFER_CREATE_TYPE_REGION, region, errcode), "clCreateSubBuffer"),
    undo,
  );
  return { handle, origin: begin, layout: moved(at, 0) };
}

/** A new buffer, whose release goes on the undo list. Kernels can read and write it; the grants limit access. */
export function createBuffer(
  context: OpenCLContext,
  flags: bigint,
  length: number,
  address: Address,
  undo: Undo,
): ClMem {
  const mem = newBuffer(context, flags, length, address);
  undo.push(() => releaseBuffer(mem));
  return mem;
}

/** The same, released by the caller. */
export function newBuffer(context: OpenCLContext, flags: bigint, length: number, address: Address): ClMem {
  const all = flags | CL_MEM_READ_WRITE;
  const mem = made(opencl().clCreateBuffer(context.rawHandle, all, BigInt(length), address, errcode), "clCreateBuffer");
  ledger.add("opencl.cl_mem");
  return mem;
}

/** Retains a buffer that other code made; the release goes on the undo list. */
export function retainBuffer(mem: ClMem, undo: Undo): ClMem {
  check(opencl().clRetainMemObject(mem), "clRetainMemObject");
  return own(mem, undo);
}

/** Takes a new `cl_mem` over: its release goes on the undo list. */
export function own(mem: ClMem, undo: Undo): ClMem {
  ledger.add("opencl.cl_mem");
  undo.push(() => releaseBuffer(mem));
  return mem;
}

/** Releases a `cl_mem` once. */
export function releaseBuffer(mem: ClMem): void {
  ledger.remove("opencl.cl_mem");
  check(opencl().clReleaseMemObject(mem), "clReleaseMemObject");
}
