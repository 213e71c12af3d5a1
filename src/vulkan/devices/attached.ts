import type { VkDevice, VkInstance, VkPhysicalDevice, VkQueue } from "../../../ffi/vulkan/handles.ts";
import { type Names, optionsIn, shown } from "../../core/argument.ts";
import { deviceOf } from "../device.ts";
import { checks } from "../library.ts";
import { OpenDevice } from "../open_device.ts";

/** Another library's Vulkan objects, which outlive the context. */
export interface VulkanHandles {
  /** The `VkInstance`. */
  readonly instance: bigint;
  /** The `VkPhysicalDevice`. */
  readonly physicalDevice: bigint;
  /** The `VkDevice`, made for Vulkan 1.2 or later, with timeline semaphores. */
  readonly device: bigint;
  /** A `VkQueue` that runs compute shaders. Only one thread at a time may submit to it. */
  readonly queue: bigint;
  /** The index of the queue's family. */
  readonly queueFamily: number;
  /** The extensions that the device was made with; none by default. */
  readonly extensions?: readonly string[];
}

const HANDLES: Names<VulkanHandles> = {
  instance: true,
  physicalDevice: true,
  device: true,
  queue: true,
  queueFamily: true,
  extensions: true,
};

/** The device stays its owner's. @throws {ArgumentError} for an invalid handle, or a queue family that the device lacks. */
export function attachedDevice(handles: VulkanHandles): OpenDevice {
  const { queueFamily, extensions = [], ...given } = optionsIn(handles, HANDLES, "handles");
  const instance = checks.handleIn<VkInstance>(given.instance, "handles.instance");
  const physicalDevice = checks.handleIn<VkPhysicalDevice>(given.physicalDevice, "handles.physicalDevice");
  const device = checks.handleIn<VkDevice>(given.device, "handles.device");
  const queue = checks.handleIn<VkQueue>(given.queue, "handles.queue");
  if (!Array.isArray(extensions)) throw checks.wrongKind("handles.extensions", "an array of names", extensions);
  const names = checks.itemsIn<string>(extensions, "handles.extensions");
  names.forEach((name, i) => checks.assertText(name, `handles.extensions[${i}]`));
  const facts = deviceOf(physicalDevice);
  if (facts.queueFamilies[queueFamily]?.compute !== true) {
    const what = `expected a family whose queues run compute shaders, got ${shown(queueFamily)}.`;
    throw checks.wrong("handles.queueFamily", what);
  }
  return new OpenDevice({ instance, physicalDevice, device, queueFamily, queues: [queue], extensions: names }, facts);
}
