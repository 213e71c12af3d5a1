import type { Call } from "../core/contract.ts";
import type { VulkanBuffer } from "./buffer.ts";
import type { VulkanLane } from "./lane.ts";
import { vulkan } from "./library.ts";
import { structs } from "./struct.ts";

export interface Region {
  readonly from: number;
  readonly to: number;
  readonly length: number;
}

/** The command that copies regions of one buffer to another, or within one. */
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

export interface Filled {
  /** A multiple of 4. */
  readonly at: number;
  /** A multiple of 4. */
  readonly length: number;
  readonly word: number;
}

export function fillCall(buffer: VulkanBuffer, fills: readonly Filled[]): Call<VulkanLane> {
  return {
    fn: "vkQueueSubmit",
    call: (lane) =>
      lane.run([buffer], (commands) => {
        for (const { at, length, word } of fills) {
          vulkan().vkCmdFillBuffer(commands, buffer.buffer, BigInt(at), BigInt(length), word);
        }
      }),
  };
}
