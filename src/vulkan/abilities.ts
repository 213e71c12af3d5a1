import type { FieldLayout } from "../../ffi/layout.ts";
import * as vk from "../../ffi/vulkan/constants.ts";
import type { VkPhysicalDevice } from "../../ffi/vulkan/handles.ts";
import * as layouts from "../../ffi/vulkan/structs.ts";
import { vulkan } from "./library.ts";
import type { ExtensionName } from "./open_device.ts";
import { type Struct, struct } from "./struct.ts";

/** Whether objects can be exported as a kind of handle, and imported from it. */
export interface Ability {
  /** True if an object can be exported. */
  readonly exports: boolean;
  /** True if an object can be imported. */
  readonly imports: boolean;
}

/** Whether memory can be exported as a kind of handle, and imported from it, and how. */
export interface MemoryAbility extends Ability {
  /** The kind of handle, as Vulkan names it. */
  readonly handleType: number;
  /** True if the memory must be dedicated to one object. */
  readonly dedicated: boolean;
  /** The kinds of handle that the same memory can be exported as. */
  readonly compatible: number;
}

/** What a device exports and imports, as its queries report. */
export interface Abilities {
  /** Buffers as opaque fds. */
  readonly opaqueFd: MemoryAbility;
  /** Buffers as dma-bufs. */
  readonly dmaBuf: MemoryAbility;
  /** Host memory as buffers. */
  readonly hostPointer: MemoryAbility;
  /** Binary semaphores as opaque fds. */
  readonly binaryFd: Ability;
  /** Timeline semaphores as opaque fds. */
  readonly timelineFd: Ability;
  /** Binary semaphores as sync files. */
  readonly syncFd: Ability;
  /** Fences as sync files. */
  readonly fenceSyncFd: Ability;
}

export const USAGE: number = vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT |
  vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;

const NONE: Ability = { exports: false, imports: false };

/** Queries a device. `has` names the `VkDevice`'s extensions: queries report what the driver can do, not this `VkDevice`. */
export function abilitiesOf(device: VkPhysicalDevice, has: (extension: ExtensionName) => boolean): Abilities {
  const memory = (extension: ExtensionName, handleType: number) => memoryAbility(device, handleType, has(extension));
  const semaphore = (handleType: number, type: number) =>
    has("VK_KHR_external_semaphore_fd") ? semaphoreAbility(device, handleType, type) : NONE;
  return {
    opaqueFd: memory("VK_KHR_external_memory_fd", vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT),
    dmaBuf: memory("VK_EXT_external_memory_dma_buf", vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT),
    hostPointer: memory("VK_EXT_external_memory_host", vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT),
    binaryFd: semaphore(vk.VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT, vk.VK_SEMAPHORE_TYPE_BINARY),
    timelineFd: semaphore(vk.VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT, vk.VK_SEMAPHORE_TYPE_TIMELINE),
    syncFd: semaphore(vk.VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT, vk.VK_SEMAPHORE_TYPE_BINARY),
    fenceSyncFd: has("VK_KHR_external_fence_fd") ? fenceAbility(device) : NONE,
  };
}

function memoryAbility(device: VkPhysicalDevice, handleType: number, has: boolean): MemoryAbility {
  const reported = struct("VkExternalBufferProperties");
  if (has) {
    const info = struct("VkPhysicalDeviceExternalBufferInfo", { usage: USAGE, handleType });
    vulkan().vkGetPhysicalDeviceExternalBufferProperties(device, info, reported);
  }
  return memoryAbilityIn(reported, layouts.VkExternalBufferProperties.fields, handleType);
}

export function memoryAbilityIn(
  reported: Struct,
  fields: Readonly<Record<"externalMemoryFeatures" | "compatibleHandleTypes", FieldLayout>>,
  handleType: number,
): MemoryAbility {
  const features = reported.number(fields.externalMemoryFeatures);
  return {
    handleType,
    ...abilityIn(features, vk.VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT, vk.VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT),
    dedicated: (features & vk.VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) !== 0,
    compatible: reported.number(fields.compatibleHandleTypes),
  };
}

function semaphoreAbility(device: VkPhysicalDevice, handleType: number, semaphoreType: number): Ability {
  const info = struct("VkPhysicalDeviceExternalSemaphoreInfo", {
    pNext: struct("VkSemaphoreTypeCreateInfo", { semaphoreType }),
    handleType,
  });
  const reported = struct("VkExternalSemaphoreProperties", {});
  vulkan().vkGetPhysicalDeviceExternalSemaphoreProperties(device, info, reported);
  return abilityIn(
    reported.number(layouts.VkExternalSemaphoreProperties.fields.externalSemaphoreFeatures),
    vk.VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT,
    vk.VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT,
  );
}

function fenceAbility(device: VkPhysicalDevice): Ability {
  const info = struct("VkPhysicalDeviceExternalFenceInfo", {
    handleType: vk.VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT,
  });
  const reported = struct("VkExternalFenceProperties", {});
  vulkan().vkGetPhysicalDeviceExternalFenceProperties(device, info, reported);
  return abilityIn(
    reported.number(layouts.VkExternalFenceProperties.fields.externalFenceFeatures),
    vk.VK_EXTERNAL_FENCE_FEATURE_EXPORTABLE_BIT,
    vk.VK_EXTERNAL_FENCE_FEATURE_IMPORTABLE_BIT,
  );
}

function abilityIn(features: number, exports: number, imports: number): Ability {
  return { exports: (features & exports) !== 0, imports: (features & imports) !== 0 };
}
