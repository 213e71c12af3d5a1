import type { Address } from "../../../ffi/address.ts";
import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import type { Layout, LayoutInit } from "../../core/layout/layout.ts";
import { Resource } from "../../core/life/resource.ts";
import { type Part, type SliceOptions, Tensor, type TensorInit } from "../../core/tensors/tensor.ts";
import type { OpenCLContext } from "../context.ts";

/** By which of CL_KERNEL_EXEC_INFO_… a kernel is told of memory that it finds the address of. */
export interface ExecInfo {
  /** A list of addresses, this one among them. */
  readonly pointers?: number;
  /** That it finds such memory at all. */
  readonly flag?: number;
}

/**
 * Memory that kernels reach by an address of its own instead of a `cl_mem`. Its handle is that address; a part of it is
 * the same address with an offset, and may begin at any byte.
 */
export abstract class OpenCLPointerTensor extends Tensor<Address> {
  /** The context whose memory it is. */
  get context(): OpenCLContext {
    return this.target.context as OpenCLContext;
  }

  /** The address of its first element: what a kernel is passed. */
  get address(): Address {
    return (this.rawHandle + BigInt(this.layout.byteOffset)) as Address;
  }

  /** What a kernel is told that finds its address in memory. For authors of mappers. */
  abstract get execInfo(): ExecInfo;

  /** Passes it to a kernel. For authors of mappers. @throws {NativeCallError} if the driver refuses. */
  abstract setArgument(kernel: ClKernel, index: number): void;

  /** Another tensor of the same kind, over a part of these bytes. */
  protected abstract another(init: TensorInit<Address>): OpenCLPointerTensor;

  /** Lends a part as a child. @see {@link Tensor.slice} */
  override slice(layout: Layout | LayoutInit, options: SliceOptions = {}): this {
    return super.slice(layout, options) as this;
  }

  /** The same, for routes: the host calls it so too, unless it cannot reach it. */
  protected override get hostAddress(): bigint | undefined {
    return this.address;
  }

  /** Makes the tensor of a part that was lent. */
  protected derive({ layout, grant, name }: Part): OpenCLPointerTensor {
    const resource = new Resource({ name, grants: [grant], owners: [this.resource] });
    return this.another({ target: this.target, handle: this.rawHandle, layout, resource, parent: this });
  }
}
