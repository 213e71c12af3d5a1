import * as vk from "../../ffi/vulkan/constants.ts";
import type { VkInstance, VkPhysicalDevice } from "../../ffi/vulkan/handles.ts";
import { InteropError } from "../core/errors.ts";
import { listedHandles } from "../core/native/listed.ts";
import { cString } from "../core/native/text.ts";
import { check } from "./errors.ts";
import { vulkan } from "./library.ts";
import { pointers, struct } from "./struct.ts";

/** VK_API_VERSION_1_2, which includes timeline semaphores and external memory. */
const API_VERSION: number = 1 << 22 | 2 << 12;

const VALIDATION = "VK_LAYER_KHRONOS_validation";

export function versionText(version: number): string {
  return `${version >>> 22 & 0x7f}.${version >>> 12 & 0x3ff}.${version & 0xfff}`;
}

const instances = new Map<boolean, VkInstance>();

/**
 * The `VkInstance` of this process, which is made once and never destroyed. With the last instance, Vulkan's loader closes the
 * driver's libraries, and NVIDIA's (580.159) cannot be opened again after some 30 times (VK_ERROR_INCOMPATIBLE_DRIVER).
 * @param validation with the validation layer, which writes to the standard output unless its settings name a file
 * @throws {InteropError} if the loader is older than Vulkan 1.2.
 * @throws {NativeCallError} if there is no driver, or no validation layer.
 */
export function instanceFor(validation: boolean): VkInstance {
  let instance = instances.get(validation);
  if (instance === undefined) instances.set(validation, instance = createInstance(validation));
  return instance;
}

function createInstance(validation: boolean): VkInstance {
  const version = new Uint32Array(1);
  check(vulkan().vkEnumerateInstanceVersion(version), "vkEnumerateInstanceVersion");
  if (version[0] < API_VERSION) {
    throw new InteropError(`The Vulkan loader is of ${versionText(version[0])}; 1.2 or later is needed.`, {
      api: "vulkan",
      fn: "vkEnumerateInstanceVersion",
      hint: "Update it: apt install libvulkan1.",
    });
  }
  const application = struct("VkApplicationInfo", {
    pApplicationName: cString("samepage"),
    apiVersion: API_VERSION,
  });
  const info = struct("VkInstanceCreateInfo", {
    pApplicationInfo: application,
    ...(validation ? { enabledLayerCount: 1, ppEnabledLayerNames: pointers([cString(VALIDATION)]) } : {}),
  });
  const out = new BigUint64Array(1);
  check(vulkan().vkCreateInstance(info, null, out), "vkCreateInstance");
  return out[0] as VkInstance;
}

export function physicalDevices(instance: VkInstance): VkPhysicalDevice[] {
  const fn = "vkEnumeratePhysicalDevices";
  return listedHandles(fn, check, (count, into) => vulkan()[fn](instance, count, into), vk.VK_INCOMPLETE);
}
