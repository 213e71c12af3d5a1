import { VK_SUCCESS } from "../../ffi/vulkan/constants.ts";
import * as vk from "../../ffi/vulkan/errors.ts";
import type { ErrorFields, NativeCallError } from "../core/errors.ts";
import { codeError, type Codes } from "../core/native/code_error.ts";

const HINTS: ReadonlyMap<number, string> = new Map([
  [vk.VK_ERROR_OUT_OF_DEVICE_MEMORY, "The device has not that much memory left, or the driver refuses the handle."],
  [vk.VK_ERROR_OUT_OF_HOST_MEMORY, "The driver could not allocate memory of its own."],
  [vk.VK_ERROR_DEVICE_LOST, "A command of this program or of another has crashed the device: open a new context."],
  [vk.VK_ERROR_INCOMPATIBLE_DRIVER, "No driver was found: apt install mesa-vulkan-drivers, or the GPU's own."],
  [vk.VK_ERROR_LAYER_NOT_PRESENT, "Install the validation layer: apt install vulkan-validationlayers."],
  [vk.VK_ERROR_INVALID_EXTERNAL_HANDLE, "Is the fd of this kind, and of memory of this device?"],
]);

const CODES: Codes = {
  api: "vulkan",
  names: vk.ERROR_NAMES,
  unknown: "a code that Vulkan does not know",
  hints: HINTS,
};

/** The error of a Vulkan function's code. */
export function vulkanError(code: number, fn: string, fields?: ErrorFields): NativeCallError {
  return codeError(CODES, code, fn, fields);
}

/** Throws unless a code is VK_SUCCESS. */
export function check(code: number, fn: string, fields?: ErrorFields): void {
  if (code !== VK_SUCCESS) throw vulkanError(code, fn, fields);
}
