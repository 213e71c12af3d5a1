import { VK_NOT_READY } from "../../ffi/vulkan/constants.ts";
import { VK_ERROR_DEVICE_LOST } from "../../ffi/vulkan/errors.ts";
import type { VkFence } from "../../ffi/vulkan/handles.ts";
import type { Fence } from "../core/device/fence.ts";
import { fenceOf } from "../core/device/foreign_work.ts";
import { type Undo, undoAll } from "../core/life/undo.ts";
import type { VulkanBase } from "./base.ts";
import { check, vulkanError } from "./errors.ts";
import { checks, vulkan } from "./library.ts";
import { FOREVER } from "./lane.ts";

const ASK = "vkGetFenceStatus";
const WAIT = "vkWaitForFences";

/**
 * A `VkFence` of another library's as a fence, or one of ours, which `undo` destroys. It has no way to other drivers'
 * lines: an export would reset it (a sync file takes the signal along).
 */
export function attachedFence({ openDevice: device, resource, name }: VulkanBase, given: bigint, undo?: Undo): Fence {
  resource.assertLive();
  const fences = new BigUint64Array([checks.handleIn<VkFence>(given, "handle")]);
  const checkWait = (code: number) => code === VK_ERROR_DEVICE_LOST || check(code, WAIT); // a poll reports the loss
  return fenceOf({
    ...{ api: "vulkan", error: vulkanError, name: `a VkFence (${name})`, fn: ASK, owners: [resource] },
    isOver(events) {
      const code = vulkan()[ASK](device.handle, fences[0] as VkFence);
      if (code === VK_NOT_READY) return false;
      if (code === VK_ERROR_DEVICE_LOST) events.failed(1, vulkanError(code, ASK), true);
      else check(code, ASK);
      return true;
    },
    block: () => void checkWait(vulkan()[WAIT](device.handle, 1, fences, 1, FOREVER)),
    async wait() {
      const list = fences.slice(); // the driver may be reading it while the fence's is collected
      const code = await device.waiting(() => vulkan().vkWaitForFencesAsync(device.handle, 1, list, 1, FOREVER));
      list.fill(0n);
      checkWait(code);
    },
    release: () => undoAll(undo ?? [], "releasing a fence"),
  });
}
