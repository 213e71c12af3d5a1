import type { ClMem } from "../../../ffi/opencl/handles.ts";
import type { MemoryClass } from "../../core/device/proofs.ts";
import { Tensor, type TensorInit } from "../../core/tensors/tensor.ts";
import type { BaseContext } from "../base_context.ts";
import { BaseOf } from "./base_of.ts";
import type { BufferLimits } from "./limits.ts";

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
  readonly memoryClass?: MemoryClass<BaseContext> | undefined;
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

/** A tensor over a `cl_mem`, as commands use it. */
export abstract class BufferTensor extends Tensor<ClMem> {
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
  get context(): BaseContext {
    return this.target.context as BaseContext;
  }

  /**
   * The same tensor for a kernel that gets `layout.byteOffset` as an argument of its own. A tensor needs it that begins in
   * the middle of its `cl_mem`, where no sub-buffer can begin.
   */
  get base(): BaseOf<this> {
    return new BaseOf(this);
  }

  /** The offset of its first element in the root, in bytes. */
  get rootOffset(): number {
    return this.origin + this.layout.byteOffset;
  }

  /** The host address of its first element, if it lies in host memory (CL_MEM_USE_HOST_PTR). */
  protected override get hostAddress(): bigint | undefined {
    const { hostAddress } = this.root;
    return hostAddress === undefined ? undefined : hostAddress + BigInt(this.rootOffset);
  }
}
