import type { VkDevice, VkQueue } from "../../../ffi/vulkan/handles.ts";
import { InteropError } from "../../core/errors.ts";
import { owned } from "../../core/life/ledger.ts";
import type { Undo } from "../../core/life/undo.ts";
import { cString } from "../../core/native/text.ts";
import { featuresOf } from "../device.ts";
import { check } from "../errors.ts";
import { vulkan } from "../library.ts";
import { OpenDevice, WANTED } from "../open_device.ts";
import { pointers, struct } from "../struct.ts";
import type { PhysicalDevice } from "./choice.ts";

/** The limit of queues, because a family may have dozens. Further lines share a queue. */
const MAX_QUEUES = 4;

/** Makes a device with all extensions for sharing. @throws {InteropError} if the device has no compute queue. */
export function createDevice({ instance, handle: physicalDevice, facts }: PhysicalDevice, undo: Undo): OpenDevice {
  const queueFamily = facts.queueFamilies.findIndex(({ compute }) => compute);
  if (queueFamily < 0) {
    throw new InteropError(`${facts.name} has no queue that runs compute shaders.`, {
      api: "vulkan",
      fn: "vkCreateDevice",
      hint: "Choose another device: vulkanDevices() lists them.",
    });
  }
  const extensions = WANTED.filter((name) => facts.extensions.includes(name));
  const count = Math.min(facts.queueFamilies[queueFamily].count, MAX_QUEUES);
  const features = featuresOf(physicalDevice);
  const info = struct("VkDeviceCreateInfo", {
    pNext: features, // timeline semaphores are in all of Vulkan 1.2, robust access in all of 1.0
    queueCreateInfoCount: 1,
    pQueueCreateInfos: struct("VkDeviceQueueCreateInfo", {
      queueFamilyIndex: queueFamily,
      queueCount: count,
      pQueuePriorities: new Float32Array(count).fill(1),
    }),
    ...(extensions.length === 0 ? {} : {
      enabledExtensionCount: extensions.length,
      ppEnabledExtensionNames: pointers(extensions.map(cString)),
    }),
  });
  const out = new BigUint64Array(1);
  check(vulkan().vkCreateDevice(physicalDevice, info, null, out), "vkCreateDevice");
  const device = out[0] as VkDevice;
  let open: OpenDevice | undefined;
  owned("vulkan.VkDevice", undo, () => {
    const destroy = () => vulkan().vkDestroyDevice(device, null);
    if (open === undefined) destroy();
    else if (!open.isKept) open.whenIdle(destroy);
  });
  const queues = Array.from({ length: count }, (_, i) => {
    vulkan().vkGetDeviceQueue(device, queueFamily, i, out);
    return out[0] as VkQueue;
  });
  const handles = { instance, physicalDevice, device, queueFamily, queues, extensions };
  return open = new OpenDevice(handles, facts, features);
}
