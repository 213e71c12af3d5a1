import * as vk from "../../ffi/vulkan/errors.ts";
import { type Check, checkOf, type ErrorMaker, errorOf } from "../core/native/codes.ts";

const HINTS: ReadonlyMap<number, string> = new Map([
  [vk.VK_ERROR_OUT_OF_DEVICE_MEMORY, "The device has not that much memory left, or the driver refuses the handle."],
  [vk.VK_ERROR_OUT_OF_HOST_MEMORY, "The driver could not allocate memory of its own."],
  [vk.VK_ERROR_DEVICE_LOST, "A command of this program or of another has crashed the device: open a new context."],
  [vk.VK_ERROR_INCOMPATIBLE_DRIVER, "No driver was found: apt install mesa-vulkan-drivers, or the GPU's own."],
  [vk.VK_ERROR_LAYER_NOT_PRESENT, "Install the validation layer: apt install vulkan-validationlayers."],
  [vk.VK_ERROR_INVALID_EXTERNAL_HANDLE, "Is the fd of this kind, and of memory of this device?"],
]);

export const vulkanError: ErrorMaker = errorOf({
  api: "vulkan",
  names: vk.ERROR_NAMES,
  unknown: "a code that Vulkan does not know",
  hints: HINTS,
});

export const check: Check = checkOf(vulkanError);
