import * as vk from "../../ffi/vulkan/constants.ts";
import type { Reason } from "../core/errors.ts";
import type { Access } from "../core/memory/access.ts";
import type { MemoryAbility } from "./abilities.ts";
import type { VulkanDeviceType } from "./device.ts";
import type { ExtensionName, OpenDevice } from "./open_device.ts";

export const HANDLES = {
  "opaque-fd": { type: vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, extension: "VK_KHR_external_memory_fd" },
  "dma-buf": { type: vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT, extension: "VK_EXT_external_memory_dma_buf" },
  "host-pointer": {
    type: vk.VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
    extension: "VK_EXT_external_memory_host",
  },
} as const satisfies Record<string, { readonly type: number; readonly extension: ExtensionName }>;

export type HandleKind = keyof typeof HANDLES;

/** A kind of fd by which memory is exported. */
export type ExportKind = "opaque-fd" | "dma-buf";

/** The best first. */
export const EXPORT_KINDS: Readonly<Record<ExportKind, unknown>> = { "opaque-fd": true, "dma-buf": true };

/** The access that a dma-buf's fd has to allow: a device on the CPU, such as lavapipe, maps it. */
export function fdAccessOf({ type }: { readonly type: VulkanDeviceType }): Access | undefined {
  return type === "cpu" ? "read-write" : undefined;
}

export function abilityOf({ abilities }: OpenDevice, kind: HandleKind): MemoryAbility {
  return { "opaque-fd": abilities.opaqueFd, "dma-buf": abilities.dmaBuf, "host-pointer": abilities.hostPointer }[kind];
}

export function closedFor(
  device: OpenDevice,
  kind: HandleKind,
  side: "exports" | "imports",
): Reason | undefined {
  if (abilityOf(device, kind)[side]) return undefined;
  return device.lacks(HANDLES[kind].extension) ?? unsupported(device.facts.name, "buffers", side, kind);
}

/** The reason for a device that has the extension, but refuses this handle type. */
export function unsupported(device: string, what: string, side: "exports" | "imports", kind: HandleKind) {
  return {
    reason: `${device} reports that its ${what} cannot be ${side === "exports" ? "exported" : "imported"} as ${kind}.`,
  };
}
