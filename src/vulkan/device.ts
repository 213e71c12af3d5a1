import * as vk from "../../ffi/vulkan/constants.ts";
import type { VkPhysicalDevice } from "../../ffi/vulkan/handles.ts";
import * as layouts from "../../ffi/vulkan/structs.ts";
import { type DeviceId, pciAddress } from "../core/device/device_id.ts";
import { listed } from "../core/native/listed.ts";
import { check } from "./errors.ts";
import { instanceFor, physicalDevices, versionText } from "./instance.ts";
import { vulkan } from "./library.ts";
import { chain, room, type Struct, struct } from "./struct.ts";

/** A kind of device. */
export type VulkanDeviceType = "discrete" | "integrated" | "virtual" | "cpu" | "other";

const TYPES: readonly VulkanDeviceType[] = ["other", "integrated", "discrete", "virtual", "cpu"];

/** A kind of memory that a device has. */
export interface VulkanMemoryType {
  /** Its index in the driver's list. */
  readonly index: number;
  /** True if it is the device's own memory. */
  readonly deviceLocal: boolean;
  /** True if the CPU can map it. */
  readonly hostVisible: boolean;
  /** True if the CPU and the device see each other's writes without further calls. */
  readonly hostCoherent: boolean;
  /** True if the CPU caches it: reading is fast. */
  readonly hostCached: boolean;
  /** All of VkMemoryPropertyFlagBits. */
  readonly flags: number;
  /** The size of its heap in bytes, which other types may share. */
  readonly heapBytes: number;
}

/** A family of queues. */
export interface VulkanQueueFamily {
  /** True if its queues run graphics commands. */
  readonly graphics: boolean;
  /** True if its queues run compute shaders. */
  readonly compute: boolean;
  /** How many queues it has. */
  readonly count: number;
}

/** The limits of a device that matter here. */
export interface VulkanLimits {
  /** The most bytes of a buffer that a shader sees. */
  readonly maxStorageBufferRange: number;
  /** The alignment of a shader's buffer, in bytes. */
  readonly minStorageBufferOffsetAlignment: number;
  /** The most bytes of push constants. */
  readonly maxPushConstantsSize: number;
  /** The most work groups along each dimension. */
  readonly maxComputeWorkGroupCount: readonly number[];
  /** The most buffers of one shader; 0 without VK_KHR_push_descriptor. */
  readonly maxPushDescriptors: number;
  /** The alignment of imported host memory, in bytes; 0 without VK_EXT_external_memory_host. */
  readonly minImportedHostPointerAlignment: number;
  /** The most pixels along a side of an image. */
  readonly maxImageDimension2D: number;
  /** The most layers of an image. */
  readonly maxImageArrayLayers: number;
}

/** Facts about a physical device, without a native object. */
export interface VulkanDevice {
  /** Its name. */
  readonly name: string;
  /** Its UUID and, if reported, its PCI address: the same in all APIs that report them. */
  readonly id: DeviceId;
  /** The driver's UUID: opaque handles cross only between equal ones. */
  readonly driverUuid: string;
  /** The driver's name and version: `"llvmpipe Mesa 22.3.6"`. */
  readonly driver: string;
  /** Its kind. */
  readonly type: VulkanDeviceType;
  /** Its version of Vulkan: `"1.3.230"`. */
  readonly apiVersion: string;
  /** Its extensions. */
  readonly extensions: readonly string[];
  /** Its kinds of memory, in the driver's order. */
  readonly memoryTypes: readonly VulkanMemoryType[];
  /** Its families of queues. */
  readonly queueFamilies: readonly VulkanQueueFamily[];
  /** Its limits. */
  readonly limits: VulkanLimits;
}

export function featuresOf(handle: VkPhysicalDevice): Struct {
  const all = chain(
    struct("VkPhysicalDeviceFeatures2"),
    struct("VkPhysicalDeviceVulkan11Features"),
    struct("VkPhysicalDeviceVulkan12Features"),
  );
  vulkan().vkGetPhysicalDeviceFeatures2(handle, all);
  return all;
}

/**
 * The devices of all drivers.
 *
 * @throws {LibraryNotFoundError} if there is no Vulkan loader.
 * @throws {NativeCallError} if there is no driver.
 */
export function vulkanDevices(): VulkanDevice[] {
  return physicalDevices(instanceFor(false)).map(deviceOf);
}

export function deviceOf(handle: VkPhysicalDevice): VulkanDevice {
  const extensions = extensionsOf(handle);
  const has = (name: string) => extensions.includes(name);
  const all = struct("VkPhysicalDeviceProperties2", {});
  const id = struct("VkPhysicalDeviceIDProperties", {});
  const driver = struct("VkPhysicalDeviceDriverProperties", {});
  const push = struct("VkPhysicalDevicePushDescriptorPropertiesKHR", {});
  const host = struct("VkPhysicalDeviceExternalMemoryHostPropertiesEXT", {});
  const pci = struct("VkPhysicalDevicePCIBusInfoPropertiesEXT", {});
  chain(
    all,
    id,
    driver,
    ...(has("VK_KHR_push_descriptor") ? [push] : []),
    ...(has("VK_EXT_external_memory_host") ? [host] : []),
    ...(has("VK_EXT_pci_bus_info") ? [pci] : []),
  );
  vulkan().vkGetPhysicalDeviceProperties2(handle, all);
  const { fields } = layouts.VkPhysicalDeviceProperties2;
  const ids = layouts.VkPhysicalDeviceIDProperties.fields;
  const { driverName, driverInfo } = layouts.VkPhysicalDeviceDriverProperties.fields;
  return {
    name: all.text(fields.deviceName),
    id: {
      uuid: uuidAt(id, ids.deviceUUID.offset),
      ...(has("VK_EXT_pci_bus_info") ? { pci: pciOf(pci) } : {}),
    },
    driverUuid: uuidAt(id, ids.driverUUID.offset),
    driver: `${driver.text(driverName)} ${driver.text(driverInfo)}`.trim(),
    type: TYPES[all.number(fields.deviceType)] ?? "other",
    apiVersion: versionText(all.number(fields.apiVersion)),
    extensions,
    memoryTypes: memoryTypesOf(handle),
    queueFamilies: queueFamiliesOf(handle),
    limits: {
      maxStorageBufferRange: all.number(fields.maxStorageBufferRange),
      minStorageBufferOffsetAlignment: Number(all.word(fields.minStorageBufferOffsetAlignment)),
      maxPushConstantsSize: all.number(fields.maxPushConstantsSize),
      maxComputeWorkGroupCount: [
        all.number(fields.maxComputeWorkGroupCount0),
        all.number(fields.maxComputeWorkGroupCount1),
        all.number(fields.maxComputeWorkGroupCount2),
      ],
      maxPushDescriptors: push.number(layouts.VkPhysicalDevicePushDescriptorPropertiesKHR.fields.maxPushDescriptors),
      minImportedHostPointerAlignment: Number(
        host.word(layouts.VkPhysicalDeviceExternalMemoryHostPropertiesEXT.fields.minImportedHostPointerAlignment),
      ),
      maxImageDimension2D: all.number(fields.maxImageDimension2D),
      maxImageArrayLayers: all.number(fields.maxImageArrayLayers),
    },
  };
}

function extensionsOf(handle: VkPhysicalDevice): string[] {
  const { size, fields } = layouts.VkExtensionProperties;
  const fn = "vkEnumerateDeviceExtensionProperties";
  const { count: length, into } = listed(
    fn,
    check,
    (count, into: Struct | null) => vulkan()[fn](handle, null, count, into),
    (count) => room("VkExtensionProperties", count),
    vk.VK_INCOMPLETE,
  );
  return Array.from({ length }, (_, i) => into!.text(fields.extensionName, i * size)).sort();
}

function memoryTypesOf(handle: VkPhysicalDevice): VulkanMemoryType[] {
  const reported = room("VkPhysicalDeviceMemoryProperties", 1);
  vulkan().vkGetPhysicalDeviceMemoryProperties(handle, reported);
  const { memoryTypeCount, memoryTypes, memoryHeaps } = layouts.VkPhysicalDeviceMemoryProperties.fields;
  return Array.from({ length: reported.number(memoryTypeCount) }, (_, index) => {
    const at = memoryTypes.offset + index * layouts.VkMemoryType.size;
    const flags = reported.number(layouts.VkMemoryType.fields.propertyFlags, at);
    const heap = memoryHeaps.offset +
      reported.number(layouts.VkMemoryType.fields.heapIndex, at) * layouts.VkMemoryHeap.size;
    return {
      index,
      deviceLocal: (flags & vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) !== 0,
      hostVisible: (flags & vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) !== 0,
      hostCoherent: (flags & vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) !== 0,
      hostCached: (flags & vk.VK_MEMORY_PROPERTY_HOST_CACHED_BIT) !== 0,
      flags,
      heapBytes: Number(reported.word(layouts.VkMemoryHeap.fields.size, heap)),
    };
  });
}

function queueFamiliesOf(handle: VkPhysicalDevice): VulkanQueueFamily[] {
  const { size, fields } = layouts.VkQueueFamilyProperties;
  const count = new Uint32Array(1);
  vulkan().vkGetPhysicalDeviceQueueFamilyProperties(handle, count, null);
  const reported = room("VkQueueFamilyProperties", count[0]);
  vulkan().vkGetPhysicalDeviceQueueFamilyProperties(handle, count, reported);
  return Array.from({ length: count[0] }, (_, i) => {
    const flags = reported.number(fields.queueFlags, i * size);
    return {
      graphics: (flags & vk.VK_QUEUE_GRAPHICS_BIT) !== 0,
      compute: (flags & vk.VK_QUEUE_COMPUTE_BIT) !== 0,
      count: reported.number(fields.queueCount, i * size),
    };
  });
}

function uuidAt(reported: Struct, offset: number): string {
  return new Uint8Array(reported.buffer, offset, vk.VK_UUID_SIZE).toHex();
}

function pciOf(reported: Struct): string {
  const { pciDomain, pciBus, pciDevice, pciFunction } = layouts.VkPhysicalDevicePCIBusInfoPropertiesEXT.fields;
  const [domain, bus, device, fn] = [pciDomain, pciBus, pciDevice, pciFunction].map((field) => reported.number(field));
  return pciAddress(domain, bus, device, fn);
}
