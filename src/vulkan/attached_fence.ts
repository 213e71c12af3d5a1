import { VK_NOT_READY } from "../../ffi/vulkan/constants.ts";
import { VK_ERROR_DEVICE_LOST } from "../../ffi/vulkan/errors.ts";
import type { VkFence } from "../../ffi/vulkan/handles.ts";
import type { Fence } from "../core/device/fence.ts";
import { fenceOf } from "../core/device/foreign_work.ts";
import { ByHandle } from "../core/memory/peers.ts";
import type { Resource } from "../core/life/resource.ts";
import { type Undo, undoAll } from "../core/life/undo.ts";
import { onThread } from "../core/native/thread_memory.ts";
import type { VulkanBase } from "./base.ts";
import { check, vulkanError } from "./errors.ts";
import { checks, vulkan } from "./library.ts";
import { FOREVER } from "./lane.ts";
import type { OpenDevice } from "./open_device.ts";

const ASK = "vkGetFenceStatus";
const WAIT = "vkWaitForFences";

interface OwnFence {
  readonly resource: Resource;
  attached: readonly Fence[];
}

const ours = new ByHandle<OwnFence>();

/** Registers a fence of ours until its end: fences attached to it end first. Returns whether one of those still waits. */
export function noteFence(device: OpenDevice, fence: VkFence, resource: Resource, undo: Undo): () => boolean {
  const own: OwnFence = { resource, attached: [] };
  undo.push(ours.add(kindOn(device), fence, own));
  return () => {
    own.attached = own.attached.filter(({ line, mark }) => !line.isOver(mark));
    return own.attached.length > 0;
  };
}

/** Distinguishes devices, because handles of two devices may be equal. */
function kindOn({ handle }: OpenDevice): string {
  return `VkFence of ${handle}`;
}

/**
 * A `VkFence` as a fence: another library's, or one of ours, which `undo` destroys. Other drivers' lines cannot wait for it,
 * because an export would reset it (a sync file takes the signal along).
 */
export function attachedFence({ openDevice: device, resource, name }: VulkanBase, given: bigint, undo?: Undo): Fence {
  resource.assertLive();
  const fences = new BigUint64Array([checks.handleIn<VkFence>(given, "handle")]);
  const own = ours.find(kindOn(device), given);
  const owners = [resource, own?.resource];
  const checkWait = (code: number) => code === VK_ERROR_DEVICE_LOST || check(code, WAIT); // a poll reports the loss
  const fence = fenceOf({
    ...{ api: "vulkan", error: vulkanError, name: `a VkFence (${name})`, fn: ASK, owners },
    isOver(events) {
      const code = vulkan()[ASK](device.handle, fences[0] as VkFence);
      if (code === VK_NOT_READY) return false;
      if (code === VK_ERROR_DEVICE_LOST) events.failed(1, vulkanError(code, ASK), true);
      else check(code, ASK);
      return true;
    },
    block: () => void checkWait(vulkan()[WAIT](device.handle, 1, fences, 1, FOREVER)),
    async wait() {
      const code = await device.waiting(() =>
        onThread("vulkan", ({ words }) => {
          words.set(fences);
          return vulkan().vkWaitForFencesAsync(device.handle, 1, words, 1, FOREVER);
        })
      );
      checkWait(code);
    },
    release: () => undoAll(undo ?? [], "releasing a fence"),
  });
  if (own !== undefined) own.attached = [...own.attached.filter(({ line, mark }) => !line.wasOver(mark)), fence];
  return fence;
}
