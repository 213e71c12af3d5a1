import { VK_NOT_READY } from "../../ffi/vulkan/constants.ts";
import { VK_ERROR_DEVICE_LOST } from "../../ffi/vulkan/errors.ts";
import type { VkFence } from "../../ffi/vulkan/handles.ts";
import type { Driver, LineEvents } from "../core/device/driver.ts";
import type { Fence } from "../core/device/fence.ts";
import { Line } from "../core/device/line.ts";
import { type Undo, undoAll } from "../core/life/undo.ts";
import type { VulkanBase } from "./base.ts";
import { check, vulkanError } from "./errors.ts";
import { checks, vulkan } from "./library.ts";
import { FOREVER } from "./lane.ts";

/** The lane of a `VkFence`, whose one mark is over when it is signalled. */
interface FenceLane {
  readonly fences: BigUint64Array<ArrayBuffer>;
  readonly events: LineEvents;
}

/**
 * A `VkFence` of another library's as a fence, or one of ours, which `undo` destroys. It has no way to other drivers'
 * lines: an export would reset it (a sync file takes the signal along).
 */
export function attachedFence(
  { openDevice: device, resource, name }: VulkanBase,
  given: bigint,
  undo: Undo = [],
): Fence {
  resource.assertLive();
  const fences = new BigUint64Array([checks.handleIn<VkFence>(given, "handle")]);
  const driver: Driver<FenceLane> = {
    api: "vulkan",
    error: vulkanError,
    lines: {
      close: () => undoAll(undo, "releasing a fence"),
      submitted() {},
      poll({ fences, events }, mark) {
        const code = vulkan().vkGetFenceStatus(device.handle, fences[0] as VkFence);
        if (code === VK_NOT_READY) return 0;
        if (code === VK_ERROR_DEVICE_LOST) events.failed(mark, vulkanError(code, "vkGetFenceStatus"), true);
        else check(code, "vkGetFenceStatus");
        return mark;
      },
      block({ fences }) {
        const code = vulkan().vkWaitForFences(device.handle, 1, fences, 1, FOREVER);
        if (code !== VK_ERROR_DEVICE_LOST) check(code, "vkWaitForFences"); // a poll reports the loss
      },
      async waitElsewhere({ fences }) {
        const list = fences.slice(); // the driver may be reading it while the lane's is collected
        const wait = () => vulkan().vkWaitForFencesAsync(device.handle, 1, list, 1, FOREVER);
        const code = await device.waiting(wait);
        list.fill(0n);
        if (code !== VK_ERROR_DEVICE_LOST) check(code, "vkWaitForFences");
      },
    },
  };
  const open = (events: LineEvents) => ({ fences, events });
  const line = new Line<FenceLane>({ driver, name: `a VkFence (${name})`, open, owners: [resource] });
  line.submit([], { fn: "vkGetFenceStatus", call: () => 0 });
  return line.fence();
}
