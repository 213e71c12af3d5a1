import { Described, LatePlane } from "../core/tensors/described.ts";
import { Tensor } from "../core/tensors/tensor.ts";
import type { VulkanBuffer } from "./buffer.ts";

/** Memory of a Vulkan device. Its handle is a {@link VulkanBuffer}; `layout.byteOffset` says where in it the elements begin. */
export class VulkanTensor extends Tensor<VulkanBuffer> {
  /** The host address of its first element, if the CPU sees the memory: the first read maps it. For mappers. */
  get address(): bigint | undefined {
    return this.described.range.address;
  }

  /** The buffer is mapped where its address is read: most routes need none. */
  protected override describe(): Described {
    const { rawHandle, layout, grant: { allocation, start } } = this;
    const address = () => rawHandle.address === undefined ? undefined : rawHandle.address + BigInt(layout.byteOffset);
    return new Described(this.target, this.access, [new LatePlane({ layout, allocation, start }, address)]);
  }
}
