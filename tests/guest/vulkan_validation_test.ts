/** Images in dma-bufs, and sync files, under Khronos' validation layer: it says nothing. In the guest. */
import { assertEquals } from "@std/assert";
import { saidOf } from "../vulkan/layer.ts";
import { guestTest } from "./needs.ts";

const DRIVER = Deno.env.get("VK_DRIVER_FILES") ?? "VK_DRIVER_FILES";
const LAYER = "/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json";

/**
 * lavapipe 25.0 does not fill VkDrmFormatModifierPropertiesList2EXT, by which the layer asks; to
 * VkDrmFormatModifierPropertiesListEXT it reports that images by modifiers can be copied.
 */
const MUTED = [
  "VUID-vkCmdClearColorImage-image-01993",
  "VUID-vkCmdCopyBufferToImage-dstImage-01997",
  "VUID-vkCmdCopyImageToBuffer-srcImage-01998",
];

for (const file of ["vulkan_images_test.ts", "vulkan_test.ts"]) {
  guestTest(`vulkan: validation: ${file}`, async () => {
    const path = new URL(file, import.meta.url).pathname;
    assertEquals(await saidOf(["test", "-A", "--no-check", path], "error,warn", MUTED), "");
  }, ["/dev/udmabuf", DRIVER, LAYER]);
}
