import type { Call } from "../core/device/driver.ts";
import type { VulkanBuffer } from "./buffer.ts";
import type { VulkanLane } from "./lane.ts";
import { vulkan } from "./library.ts";
import { structs } from "./struct.ts";

/** Bytes that lie at one place in one buffer, and at another in the other. */
export interface Region {
  /** Where they begin in the first. */
  readonly from: number;
  /** Where they begin in the second. */
  readonly to: number;
  /** How many. */
  readonly length: number;
}

/** The command that copies regions of one buffer to another, or to other places in the same. */
export function copyCall(from: VulkanBuffer, to: VulkanBuffer, regions: readonly Region[]): Call<VulkanLane> {
  const copies = structs(
    "VkBufferCopy",
    regions.map(({ from, to, length }) => ({ srcOffset: from, dstOffset: to, size: length })),
  );
  const used = from === to ? [from] : [from, to];
  return {
    fn: "vkQueueSubmit",
    call: (lane) =>
      lane.run(used, (commands) => {
        vulkan().vkCmdCopyBuffer(commands, from.buffer, to.buffer, copies.count, copies);
      }),
  };
}

/** The command that fills bytes with a word, the lowest byte first. Offset and length are multiples of 4. */
export function fillCall(buffer: VulkanBuffer, offset: number, length: number, word: number): Call<VulkanLane> {
  const [at, size] = [BigInt(offset), BigInt(length)];
  return {
    fn: "vkQueueSubmit",
    call: (lane) => lane.run([buffer], (commands) => vulkan().vkCmdFillBuffer(commands, buffer.buffer, at, size, word)),
  };
}
