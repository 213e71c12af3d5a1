import * as vk from "../../ffi/vulkan/constants.ts";
import type { VkSemaphore } from "../../ffi/vulkan/handles.ts";
import { Port, type SyncKind } from "../core/device/port.ts";
import type { NativeSemaphore, SemaphoreMaker } from "../core/device/line_sync.ts";
import { type Undo, undoAll } from "../core/life/undo.ts";
import type { Ability } from "./abilities.ts";
import { check } from "./errors.ts";
import { FdSource, givenAway } from "./fds.ts";
import type { OpenDevice } from "./open_device.ts";
import { chain, struct } from "./struct.ts";

const KINDS = {
  "timeline-fd": { type: "timeline", handleType: vk.VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT },
  "binary-fd": { type: "binary", handleType: vk.VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT },
  "sync-fd": { type: "binary", handleType: vk.VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT },
} as const;

export type FdKind = keyof typeof KINDS;

/** The kinds of semaphores that a device exports, or imports; the best first. */
export function kindsOf({ abilities }: OpenDevice, side: keyof Ability): FdKind[] {
  const of: Record<FdKind, Ability> = {
    "timeline-fd": abilities.timelineFd,
    "binary-fd": abilities.binaryFd,
    "sync-fd": abilities.syncFd,
  };
  return (Object.keys(of) as FdKind[]).filter((kind) => of[kind][side]);
}

export function createSemaphore(device: OpenDevice, kind: FdKind, undo: Undo, exports = false): VkSemaphore {
  const { type, handleType } = KINDS[kind];
  const info = struct("VkSemaphoreCreateInfo", {});
  const links = [];
  if (exports) {
    links.push(struct("VkExportSemaphoreCreateInfo", { handleTypes: handleType }));
  }
  if (type === "timeline") {
    links.push(struct("VkSemaphoreTypeCreateInfo", { semaphoreType: vk.VK_SEMAPHORE_TYPE_TIMELINE }));
  }
  return device.create<VkSemaphore>("Semaphore", chain(info, ...links), undo);
}

/** A new fd of a semaphore that was made for exports. A sync file takes the signal out of it, and is -1 for a past signal. */
export function exportSemaphore(device: OpenDevice, semaphore: VkSemaphore, kind: FdKind): number {
  const { handleType } = KINDS[kind];
  return device.exportFd("vkGetSemaphoreFdKHR", struct("VkSemaphoreGetFdInfoKHR", { semaphore, handleType }));
}

export function importSemaphore(device: OpenDevice, kind: FdKind, fd: number, undo: Undo): VkSemaphore {
  return givenAway(fd, "importing a semaphore", () => {
    const semaphore = createSemaphore(device, kind, undo);
    const info = struct("VkImportSemaphoreFdInfoKHR", {
      semaphore,
      flags: kind === "sync-fd" ? vk.VK_SEMAPHORE_IMPORT_TEMPORARY_BIT : 0,
      handleType: KINDS[kind].handleType,
      fd,
    });
    check(device.extensions.vkImportSemaphoreFdKHR!(device.handle, info), "vkImportSemaphoreFdKHR");
    return semaphore;
  });
}

/** The source of a semaphore's fds, until `undo` runs. */
export function fdsOf(device: OpenDevice, semaphore: VkSemaphore, kind: FdKind, undo: Undo): FdSource {
  const source = new FdSource(() => exportSemaphore(device, semaphore, kind));
  undo.push(() => source.close());
  return source;
}

/** Makes semaphores for drivers that have none of their own, of the kinds that this device exports. */
export function makerOf(device: OpenDevice): SemaphoreMaker {
  const kinds = kindsOf(device, "exports").filter((kind) => kind !== "sync-fd");
  return {
    name: device.facts.name,
    device: device.facts.id,
    kinds,
    make(kind: SyncKind): NativeSemaphore {
      const undo: Undo = [];
      const semaphore = createSemaphore(device, kind as FdKind, undo, true);
      const source = fdsOf(device, semaphore, kind as FdKind, undo);
      return {
        export: () => new Port(kind, { fd: source.take() }),
        release: () => undoAll(undo, "releasing a semaphore"),
      };
    },
  };
}
