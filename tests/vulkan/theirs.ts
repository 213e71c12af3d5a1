import type { VulkanContext } from "@samepage/interop/vulkan";
import type { VkBuffer } from "../../ffi/vulkan/handles.ts";
import { type Undo, undoAll } from "../../src/core/life/undo.ts";
import { USAGE } from "../../src/vulkan/abilities.ts";
import { needsOfBuffer } from "../../src/vulkan/buffer.ts";
import { check } from "../../src/vulkan/errors.ts";
import { vulkan as api } from "../../src/vulkan/library.ts";
import { allocateMemory } from "../../src/vulkan/memory_object.ts";
import { struct } from "../../src/vulkan/struct.ts";

/** A buffer as another library makes it, and how often that was notified that it may free it. */
export class Theirs implements Disposable {
  readonly buffer: VkBuffer;
  /** The length that Vulkan reports. */
  readonly size: number;
  told = 0;
  readonly #undo: Undo = [];

  constructor({ openDevice }: VulkanContext, byteLength: number) {
    const info = struct("VkBufferCreateInfo", { size: byteLength, usage: USAGE, sharingMode: 0 });
    this.buffer = openDevice.create<VkBuffer>("Buffer", info, this.#undo);
    const needs = needsOfBuffer(openDevice, this.buffer);
    this.size = needs.size;
    const made = { from: "new", place: "device", handleTypes: 0 } as const;
    const { handle } = allocateMemory(openDevice, made, needs, { buffer: this.buffer }, this.#undo);
    check(api().vkBindBufferMemory(openDevice.handle, this.buffer, handle, 0n), "vkBindBufferMemory");
  }

  readonly owner = (): void => void this.told++;

  [Symbol.dispose](): void {
    undoAll(this.#undo, "freeing their buffer");
  }
}
