import { VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_LAYOUT_GENERAL } from "../../../ffi/vulkan/constants.ts";
import type { Call } from "../../core/device/driver.ts";
import type { VulkanBuffer } from "../buffer.ts";
import type { VulkanLane } from "../lane.ts";
import { vulkan } from "../library.ts";
import { struct } from "../struct.ts";
import type { ImageObject } from "./image_object.ts";

/** Rows of an image. */
export interface RowRange {
  /** The first. */
  readonly first: number;
  /** How many. */
  readonly count: number;
}

/** The command that copies rows of pixels from an image to a buffer's beginning, without gaps, or from there to the image. */
export function rowsCall(
  way: "read" | "write",
  object: ImageObject,
  buffer: VulkanBuffer,
  { first, count }: RowRange,
): Call<VulkanLane> {
  const { image, spec: { width } } = object;
  const region = struct("VkBufferImageCopy", {
    ...{ aspectMask: VK_IMAGE_ASPECT_COLOR_BIT, layerCount: 1 },
    ...{ y: first, width, height: count, depth: 1 },
  });
  return {
    fn: "vkQueueSubmit",
    call: (lane) =>
      lane.run([object, buffer], (commands) => {
        const { vkCmdCopyImageToBuffer, vkCmdCopyBufferToImage } = vulkan();
        if (way === "read") {
          vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_GENERAL, buffer.buffer, 1, region);
        } else vkCmdCopyBufferToImage(commands, buffer.buffer, image, VK_IMAGE_LAYOUT_GENERAL, 1, region);
      }),
  };
}

/** The command that makes every pixel of an image zero. */
export function clearCall(object: ImageObject): Call<VulkanLane> {
  const range = struct("VkImageSubresourceRange", {
    ...{ aspectMask: VK_IMAGE_ASPECT_COLOR_BIT, levelCount: 1, layerCount: 1 },
  });
  const zero = new Uint32Array(4);
  return {
    fn: "vkQueueSubmit",
    call: (lane) =>
      lane.run([object], (commands) => {
        vulkan().vkCmdClearColorImage(commands, object.image, VK_IMAGE_LAYOUT_GENERAL, zero, 1, range);
      }),
  };
}
