/**
 * Vulkan: memory, semaphores and compute shaders of a device, shared with other APIs.
 *
 * @module
 */
export {
  type VulkanAllocation,
  type VulkanChoice,
  VulkanContext,
  type VulkanHandles,
  type VulkanPlacement,
} from "./context.ts";
export {
  type VulkanDevice,
  vulkanDevices,
  type VulkanDeviceType,
  type VulkanLimits,
  type VulkanMemoryType,
  type VulkanQueueFamily,
} from "./device.ts";
export { VulkanKernel, type VulkanKernelArgument, type VulkanParameter, type VulkanRunOptions } from "./kernel.ts";
export { VulkanProgram } from "./program.ts";
export { type CommandOptions, VulkanQueue } from "./queue.ts";
export { VulkanBuffer } from "./buffer.ts";
export { VulkanTensor } from "./tensor.ts";
export type { Abilities, Ability, MemoryAbility } from "./abilities.ts";
export type { VulkanBase } from "./base.ts";
export type { VulkanDriver } from "./driver.ts";
export type { Used, VulkanLane } from "./lane.ts";
export type { MemoryInfo, Origin, Place } from "./memory_object.ts";
export type { ExportKind } from "./memory.ts";
export type { ExtensionName, Handles, OpenDevice } from "./open_device.ts";
export type { Staging, Submit } from "./staging.ts";
export type * from "../../ffi/vulkan/handles.ts";
