import type { Access } from "../core/memory/access.ts";
import type { VulkanDeviceType } from "./device.ts";
import * as vk from "../../ffi/vulkan/constants.ts";
import type { ExtensionName } from "./open_device.ts";

/** The kinds of handle by which memory crosses. */
export const HANDLES = {
  "opaque-fd": { type: vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, extension: "VK_KHR_external_memory_fd" },
  "dma-buf": { type: vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT, extension: "VK_EXT_external_memory_dma_buf" },
  "host-pointer": {
    type: vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
    extension: "VK_EXT_external_memory_host",
  },
} as const satisfies Record<string, { readonly type: number; readonly extension: ExtensionName }>;

/** A kind of handle by which memory crosses. */
export type HandleKind = keyof typeof HANDLES;

/** A kind of fd by which memory goes out. */
export type ExportKind = "opaque-fd" | "dma-buf";

/** The best first. */
export const EXPORT_KINDS: Readonly<Record<ExportKind, unknown>> = { "opaque-fd": true, "dma-buf": true };

/** What an fd of a dma-buf has to allow: a device on the CPU maps it, as lavapipe does. */
export function fdAccessOf({ type }: { readonly type: VulkanDeviceType }): Access | undefined {
  return type === "cpu" ? "read-write" : undefined;
}
