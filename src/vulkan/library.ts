import type { Vulkan } from "../../ffi/vulkan/functions.ts";
import type { VkDevice } from "../../ffi/vulkan/handles.ts";
import { SYMBOLS } from "../../ffi/vulkan/symbols.ts";
import type { VulkanExtensions } from "../../ffi/vulkan_extensions/functions.ts";
import { SYMBOLS as EXTENSION_SYMBOLS } from "../../ffi/vulkan_extensions/symbols.ts";
import { Checks } from "../core/checks.ts";
import { keptLibrary } from "../core/native/libc.ts";
import { functionsByAddress, libraryPaths } from "../core/native/library.ts";
import { cString } from "../core/native/text.ts";
import { byStubs } from "../guard/stubs.ts";

export const checks: Checks = new Checks("vulkan");

export const vulkan: () => Vulkan = keptLibrary<Vulkan>({
  api: "vulkan",
  candidates: libraryPaths("libvulkan.so.1", "libvulkan.so"),
  symbols: SYMBOLS,
  hint: "Install the loader and a driver: apt install libvulkan1 mesa-vulkan-drivers.",
});

/** The functions of a device's extensions; null without the extension. */
export function extensionsOf(device: VkDevice): VulkanExtensions {
  const { vkGetDeviceProcAddr } = vulkan();
  const addressOf = (name: string) => vkGetDeviceProcAddr(device, cString(name));
  return functionsByAddress("vulkan_extensions", EXTENSION_SYMBOLS, addressOf, byStubs) as unknown as VulkanExtensions;
}
