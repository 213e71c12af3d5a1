/**
 * Vulkan: memory, semaphores and compute shaders of a device, shared with other APIs.
 *
 * @module
 */
export { type VulkanAllocation, VulkanContext, type VulkanPlacement } from "./context.ts";
export type { VulkanHandles } from "./devices/attached.ts";
export type { VulkanChoice } from "./devices/choice.ts";
export {
  type VulkanDevice,
  vulkanDevices,
  type VulkanDeviceType,
  type VulkanLimits,
  type VulkanMemoryType,
  type VulkanQueueFamily,
} from "./device.ts";
export {
  VulkanKernel,
  type VulkanKernelArgument,
  type VulkanParameter,
  type VulkanRunOptions,
  type WorkGroupRange,
} from "./kernel.ts";
export { VulkanProgram } from "./program.ts";
export type { CommandOptions } from "../core/device/queue.ts";
export { VulkanQueue } from "./queue.ts";
export { VulkanBuffer } from "./buffer.ts";
export { VulkanSemaphore } from "./semaphore.ts";
export { VulkanFence } from "./fence.ts";
export { VulkanTensor } from "./tensor.ts";
export { type VulkanImageForm, type VulkanImageInit, VulkanImageTarget } from "./image.ts";
export type { VulkanTiling } from "./images/choice.ts";
export { VulkanImage } from "./images/tensor.ts";
export type { ImageAbilities, ImageAbility, Order } from "./images/abilities.ts";
export type { VulkanFormat, VulkanFormatName } from "./images/formats.ts";
export type { ForeignImage, ImageMemory, ImageObject, ImageSpec, Rows, Tiling } from "./images/image_object.ts";
export type { SharedMemory, Whence } from "./shared_memory.ts";
export type { Abilities, Ability, MemoryAbility } from "./abilities.ts";
export type { VulkanBase } from "./base.ts";
export type { VulkanDriver } from "./driver.ts";
export type { Used, VulkanLane } from "./lane.ts";
export type { MemoryInfo, Origin, Place } from "./memory_object.ts";
export type { ExportKind } from "./handle_kinds.ts";
export type { ExtensionName, Handles, OpenDevice } from "./open_device.ts";
export type { Copies, Staged, Staging } from "./staging.ts";
export type * from "../../ffi/vulkan/handles.ts";
