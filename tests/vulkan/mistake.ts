/** Makes a buffer that is not destroyed before its device, for the validation layer to see. */
import { VulkanContext } from "@samepage/interop/vulkan";
import { VulkanBuffer } from "../../src/vulkan/buffer.ts";

using vulkan = VulkanContext.open();
new VulkanBuffer(vulkan.openDevice, 64, { from: "new", place: "device", handleTypes: 0 });
