import { VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_LAYOUT_GENERAL } from "../../../ffi/vulkan/constants.ts";
import type { Call } from "../../core/contract.ts";
import type { VulkanBuffer } from "../buffer.ts";
import type { VulkanLane } from "../lane.ts";
import { vulkan } from "../library.ts";
import { struct } from "../struct.ts";
import { type ImageObject, type ImageSpec, rangeOf } from "./image_object.ts";

export interface PixelRange {
  readonly layer: number;
  readonly layers: number;
  readonly row: number;
  readonly rows: number;
}

export function* rangesOf({ format, width, height, layers = 1 }: ImageSpec, most: number): Generator<PixelRange> {
  const rowBytes = width * format.bytesPerPixel;
  const rows = Math.min(height, Math.floor(most / rowBytes));
  const together = rows < height ? 1 : Math.floor(most / (rowBytes * height));
  for (let layer = 0; layer < layers; layer += together) {
    for (let row = 0; row < height; row += rows) {
      yield { layer, layers: Math.min(together, layers - layer), row, rows: Math.min(rows, height - row) };
    }
  }
}

/** The command that copies pixels from an image to a buffer, without gaps, or from there to the image. */
export function pixelsCall(
  direction: "read" | "write",
  object: ImageObject,
  buffer: VulkanBuffer,
  { layer, layers, row, rows }: PixelRange,
  bufferOffset: number = 0,
): Call<VulkanLane> {
  const { image, spec: { width } } = object;
  const region = struct("VkBufferImageCopy", {
    bufferOffset,
    ...{ aspectMask: VK_IMAGE_ASPECT_COLOR_BIT, baseArrayLayer: layer, layerCount: layers },
    ...{ y: row, width, height: rows, depth: 1 },
  });
  return {
    fn: "vkQueueSubmit",
    call: (lane) =>
      lane.run([object, buffer], (commands) => {
        const { vkCmdCopyImageToBuffer, vkCmdCopyBufferToImage } = vulkan();
        if (direction === "read") {
          vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_GENERAL, buffer.buffer, 1, region);
        } else vkCmdCopyBufferToImage(commands, buffer.buffer, image, VK_IMAGE_LAYOUT_GENERAL, 1, region);
      }),
  };
}

export function clearCall(
  object: ImageObject,
  colour: ArrayBufferView<ArrayBuffer> = new Uint32Array(4),
): Call<VulkanLane> {
  const range = struct("VkImageSubresourceRange", rangeOf(object.spec));
  return {
    fn: "vkQueueSubmit",
    call: (lane) =>
      lane.run([object], (commands) => {
        vulkan().vkCmdClearColorImage(commands, object.image, VK_IMAGE_LAYOUT_GENERAL, colour, 1, range);
      }),
  };
}
