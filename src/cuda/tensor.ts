import type { Address } from "../../ffi/address.ts";
import type { Layout, LayoutInit } from "../core/layout/layout.ts";
import { type Part, type SliceOptions, Tensor, type TensorInit } from "../core/tensors/tensor.ts";
import type { CudaPrimaryContext } from "./base.ts";
import type { CudaMemoryKind } from "./memory/block.ts";

/** The parts of a CUDA tensor. */
export interface CudaTensorInit extends TensorInit<Address> {
  /** The kind of its memory. */
  readonly memory: CudaMemoryKind;
  /** The host address of the byte at the handle, if the host reaches it. */
  readonly hostHandle?: Address | undefined;
}

/** Memory of any kind that kernels reach by its address, which is its handle. */
export class CudaTensor extends Tensor<Address> {
  /** The kind of its memory. */
  readonly memory: CudaMemoryKind;
  /** The host address of the byte at the handle, if the host reaches it. For mappers. */
  readonly hostHandle: Address | undefined;

  /** Takes over the resource. */
  constructor(init: CudaTensorInit) {
    super(init);
    this.memory = init.memory;
    this.hostHandle = init.hostHandle;
  }

  /** The context whose kernels use this address. */
  get context(): CudaPrimaryContext {
    return this.target.context as CudaPrimaryContext;
  }

  /** The address of its first element, which kernels get. */
  get address(): Address {
    const { rawHandle, layout: { byteOffset } } = this;
    return byteOffset === 0 ? rawHandle : (rawHandle + BigInt(byteOffset)) as Address; // bigint arithmetic is slow
  }

  /** Lends a part as a child. @see {@link Tensor.slice} */
  override slice(init: Layout | LayoutInit, options: SliceOptions = {}): this {
    return super.slice(init, options) as this;
  }

  /** The host address of its first element. */
  protected override get hostAddress(): bigint | undefined {
    return this.hostHandle === undefined ? undefined : this.hostHandle + BigInt(this.layout.byteOffset);
  }

  /** Makes the tensor of a part that was lent. */
  protected override derive(part: Part): CudaTensor {
    const { memory, hostHandle } = this;
    return new CudaTensor({ ...this.initOf(part), memory, hostHandle });
  }
}
