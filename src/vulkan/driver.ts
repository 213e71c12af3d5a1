import type { Call, Driver, Sync } from "../core/contract.ts";
import { LANES } from "../core/device/lanes.ts";
import { Port, type SyncKind } from "../core/device/port.ts";
import { allOrNothing, type Undo, undoAll } from "../core/life/undo.ts";
import type { VkSemaphore } from "../../ffi/vulkan/handles.ts";
import { vulkanError } from "./errors.ts";
import type { VulkanLane } from "./lane.ts";
import type { OpenDevice } from "./open_device.ts";
import { exportSemaphore, type FdKind, importSemaphore, kindsOf } from "./semaphores.ts";

const MARKER: Call<VulkanLane> = { fn: "vkQueueSubmit", call: (lane) => lane.mark() };

interface Imported {
  readonly semaphore: VkSemaphore;
  readonly undo: Undo;
}

/** The driver of one device. Its lines wait for each other by their timelines. For mappers. */
export type VulkanDriver = Driver<VulkanLane>;

export function driverOf(device: OpenDevice): VulkanDriver {
  const sync = syncOf(device);
  return {
    api: "vulkan",
    error: vulkanError,
    marker: () => MARKER,
    lines: {
      ...LANES,
      waitOnDevice(lane, of, mark) {
        lane.waitBeside(of, mark);
        return true;
      },
      keep: (lane) => lane.keepTimeline(),
      ...(sync === undefined ? {} : { sync }),
    },
  };
}

/** How lines of this device and of other drivers wait for each other; undefined if the device shares no semaphores. */
function syncOf(device: OpenDevice): Sync<VulkanLane, Imported> | undefined {
  const exports = kindsOf(device, "exports").filter((kind) => kind !== "binary-fd");
  const imports = kindsOf(device, "imports");
  if (exports.length === 0 && imports.length === 0) return undefined;
  return {
    exports,
    imports,
    device: () => device.facts.id,
    export(lane, mark, kind, known) {
      const value = BigInt(mark);
      if (kind === "timeline-fd") return new Port(kind, known ? { value } : { fd: lane.exportTimeline(), value });
      return new Port<SyncKind>(kind, { fd: exportSemaphore(device, lane.signalledBehind(), "sync-fd") });
    },
    import(port) {
      return allOrNothing("importing a semaphore", (undo) => {
        return { semaphore: importSemaphore(device, port.kind as FdKind, port.takeFd(), undo), undo };
      });
    },
    wait: (lane, { semaphore }, value) => lane.waitFor(semaphore, value),
    waiting: (imported, values) => ({
      fn: "vkQueueSubmit",
      call(lane) {
        for (const [i, { semaphore }] of imported.entries()) lane.waitFor(semaphore, values[i]);
        return lane.mark();
      },
    }),
    signal: (imported, values) => ({
      fn: "vkQueueSubmit",
      call: (lane) => lane.mark(imported.map(({ semaphore }) => semaphore), values),
    }),
    release: ({ undo }) => undoAll(undo, "releasing a semaphore"),
  };
}
