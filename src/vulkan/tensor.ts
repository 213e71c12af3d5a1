import { Described, LatePlane } from "../core/tensors/described.ts";
import { Tensor } from "../core/tensors/tensor.ts";
import type { VulkanBuffer } from "./buffer.ts";

/** Memory of a Vulkan device. Its handle is a {@link VulkanBuffer}; the elements begin at `layout.byteOffset` in it. */
export class VulkanTensor extends Tensor<VulkanBuffer> {
  /** The host address of its first element, if the CPU sees the memory: the first read maps it. For mappers. */
  get address(): bigint | undefined {
    return this.described.range.address;
  }

  /** A getter for the address, because reading it maps the buffer, and most routes do not need that. */
  protected override describe(): Described {
    const { rawHandle, layout, grant: { allocation, start } } = this;
    const address = () => rawHandle.address === undefined ? undefined : rawHandle.address + BigInt(layout.byteOffset);
    return new Described(this.target, this.access, [new LatePlane({ layout, allocation, start }, address)]);
  }
}
