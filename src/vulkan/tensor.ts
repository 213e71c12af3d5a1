import { Resource } from "../core/life/resource.ts";
import { type Part, Tensor } from "../core/tensors/tensor.ts";
import type { VulkanBuffer } from "./buffer.ts";

/** Memory of a Vulkan device. Its handle is a {@link VulkanBuffer}; `layout.byteOffset` says where in it the elements begin. */
export class VulkanTensor extends Tensor<VulkanBuffer> {
  /** The host address of its first element, if the CPU sees the memory. For those who write mappers. */
  get address(): bigint | undefined {
    const { address } = this.rawHandle;
    return address === undefined ? undefined : address + BigInt(this.layout.byteOffset);
  }

  /** The address, for routes. */
  protected override get hostAddress(): bigint | undefined {
    return this.address;
  }

  /** A part of it, in the same buffer. */
  protected derive({ name, grant, layout }: Part): VulkanTensor {
    const resource = new Resource({ name, grants: [grant], owners: [this.resource] });
    return new VulkanTensor({ target: this.target, handle: this.rawHandle, layout, resource, parent: this });
  }
}
