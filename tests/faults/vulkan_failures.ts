/**
 * How Vulkan's functions fail. What gives something back, and what records a command, cannot.
 *
 * @module
 */
import { VK_ERROR_OUT_OF_HOST_MEMORY } from "../../ffi/vulkan/errors.ts";
import type { Vulkan } from "../../ffi/vulkan/functions.ts";
import type { VulkanExtensions } from "../../ffi/vulkan_extensions/functions.ts";
import type { Failure, Failures } from "./failures.ts";

/** Every call that can fail may fail so. A device that is lost stays so. */
const outOfMemory: Failure = { result: VK_ERROR_OUT_OF_HOST_MEMORY };

/** What the loader exports. */
export const VULKAN: Failures<Vulkan> = {
  vkEnumerateInstanceVersion: outOfMemory,
  vkCreateInstance: outOfMemory,
  vkEnumeratePhysicalDevices: outOfMemory,
  vkGetPhysicalDeviceProperties2: undefined,
  vkGetPhysicalDeviceFeatures2: undefined,
  vkGetPhysicalDeviceQueueFamilyProperties: undefined,
  vkGetPhysicalDeviceMemoryProperties: undefined,
  vkEnumerateDeviceExtensionProperties: outOfMemory,
  vkGetPhysicalDeviceExternalBufferProperties: undefined,
  vkGetPhysicalDeviceExternalSemaphoreProperties: undefined,
  vkGetPhysicalDeviceExternalFenceProperties: undefined,
  vkGetPhysicalDeviceFormatProperties2: undefined,
  vkGetPhysicalDeviceImageFormatProperties2: outOfMemory,
  vkCreateDevice: outOfMemory,
  vkDestroyDevice: undefined,
  vkGetDeviceProcAddr: { result: 0n },
  vkGetDeviceQueue: undefined,
  vkQueueWaitIdle: outOfMemory,
  vkQueueSubmit: outOfMemory,
  vkAllocateMemory: outOfMemory,
  vkFreeMemory: undefined,
  vkMapMemory: outOfMemory,
  vkCreateBuffer: outOfMemory,
  vkDestroyBuffer: undefined,
  vkGetBufferMemoryRequirements2: undefined,
  vkBindBufferMemory: outOfMemory,
  vkCreateImage: outOfMemory,
  vkDestroyImage: undefined,
  vkGetImageMemoryRequirements2: undefined,
  vkBindImageMemory: outOfMemory,
  vkGetImageSubresourceLayout: undefined,
  vkCreateImageView: outOfMemory,
  vkDestroyImageView: undefined,
  vkCreateSemaphore: outOfMemory,
  vkDestroySemaphore: undefined,
  vkGetSemaphoreCounterValue: { ...outOfMemory, poll: true },
  vkWaitSemaphores: outOfMemory,
  vkCreateFence: outOfMemory,
  vkDestroyFence: undefined,
  vkGetFenceStatus: { ...outOfMemory, poll: true },
  vkWaitForFences: outOfMemory,
  vkCreateCommandPool: outOfMemory,
  vkDestroyCommandPool: undefined,
  vkAllocateCommandBuffers: outOfMemory,
  vkBeginCommandBuffer: outOfMemory,
  vkEndCommandBuffer: outOfMemory,
  vkResetCommandBuffer: outOfMemory,
  vkCmdPipelineBarrier: undefined,
  vkCmdFillBuffer: undefined,
  vkCmdCopyBuffer: undefined,
  vkCmdCopyBufferToImage: undefined,
  vkCmdCopyImageToBuffer: undefined,
  vkCmdClearColorImage: undefined,
  vkCmdBindPipeline: undefined,
  vkCmdPushConstants: undefined,
  vkCmdDispatch: undefined,
  vkCreateShaderModule: outOfMemory,
  vkDestroyShaderModule: undefined,
  vkCreateDescriptorSetLayout: outOfMemory,
  vkDestroyDescriptorSetLayout: undefined,
  vkCreatePipelineLayout: outOfMemory,
  vkDestroyPipelineLayout: undefined,
  vkCreateComputePipelines: outOfMemory,
  vkDestroyPipeline: undefined,
  vkWaitSemaphoresAsync: outOfMemory,
  vkWaitForFencesAsync: outOfMemory,
};

/** The functions that a device returns by name. */
export const VULKAN_EXTENSIONS: Failures<VulkanExtensions> = {
  vkGetMemoryFdKHR: outOfMemory,
  vkGetMemoryFdPropertiesKHR: outOfMemory,
  vkGetMemoryHostPointerPropertiesEXT: outOfMemory,
  vkGetSemaphoreFdKHR: outOfMemory,
  vkImportSemaphoreFdKHR: outOfMemory,
  vkGetFenceFdKHR: outOfMemory,
  vkImportFenceFdKHR: outOfMemory,
  vkGetImageDrmFormatModifierPropertiesEXT: outOfMemory,
  vkCmdPushDescriptorSetKHR: undefined,
};
