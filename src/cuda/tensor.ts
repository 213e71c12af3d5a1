import type { Address } from "../../ffi/address.ts";
import type { Layout, LayoutInit } from "../core/layout/layout.ts";
import { Resource } from "../core/life/resource.ts";
import { type Part, type SliceOptions, Tensor, type TensorInit } from "../core/tensors/tensor.ts";
import type { CudaContext } from "./context.ts";
import type { CudaMemoryKind } from "./memory/block.ts";

/** What a CUDA tensor is made of. */
export interface CudaTensorInit extends TensorInit<Address> {
  /** What kind of memory the bytes lie in. */
  readonly memory: CudaMemoryKind;
  /** What the host calls the same byte as the handle, where it can reach it. */
  readonly hostHandle?: Address | undefined;
}

/** Memory that kernels of a device reach by its address, which is its handle; of whichever kind. */
export class CudaTensor extends Tensor<Address> {
  /** What kind of memory its bytes lie in. */
  readonly memory: CudaMemoryKind;
  /** What the host calls the same byte as the handle: for those who write mappers. */
  readonly hostHandle: Address | undefined;

  /** Takes the resource over. */
  constructor(init: CudaTensorInit) {
    super(init);
    this.memory = init.memory;
    this.hostHandle = init.hostHandle;
  }

  /** The context whose kernels reach it so. */
  get context(): CudaContext {
    return this.target.context as CudaContext;
  }

  /** The address of its first element: what a kernel is passed. */
  get address(): Address {
    const { rawHandle, layout: { byteOffset } } = this;
    return byteOffset === 0 ? rawHandle : (rawHandle + BigInt(byteOffset)) as Address; // arithmetic takes a while
  }

  /** Lends a part as a child. @see {@link Tensor.slice} */
  override slice(layout: Layout | LayoutInit, options: SliceOptions = {}): this {
    return super.slice(layout, options) as this;
  }

  /** The same, as the host calls it. */
  protected override get hostAddress(): bigint | undefined {
    return this.hostHandle === undefined ? undefined : this.hostHandle + BigInt(this.layout.byteOffset);
  }

  /** Makes the tensor of a part that was lent. */
  protected derive({ layout, grant, name }: Part): CudaTensor {
    const resource = new Resource({ name, grants: [grant], owners: [this.resource] });
    const { target, rawHandle: handle, memory, hostHandle } = this;
    return new CudaTensor({ target, handle, layout, resource, parent: this, memory, hostHandle });
  }
}
