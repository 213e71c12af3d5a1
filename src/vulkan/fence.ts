import * as vk from "../../ffi/vulkan/constants.ts";
import { VK_ERROR_DEVICE_LOST } from "../../ffi/vulkan/errors.ts";
import type { VkFence } from "../../ffi/vulkan/handles.ts";
import type { Fence } from "../core/device/fence.ts";
import { finalizers } from "../core/life/finalizers.ts";
import { NativeObject } from "../core/life/native_object.ts";
import { Resource } from "../core/life/resource.ts";
import { AccessError, InteropError } from "../core/errors.ts";
import { allOrNothing, type Undo, undone } from "../core/life/undo.ts";
import { syncFileIn } from "../core/native/sync_file.ts";
import { attachedFence, noteFence } from "./attached_fence.ts";
import type { VulkanBase } from "./base.ts";
import { check } from "./errors.ts";
import { givenAway } from "./fds.ts";
import { checks, vulkan } from "./library.ts";
import type { OpenDevice } from "./open_device.ts";
import type { VulkanQueue } from "./queue.ts";
import { struct } from "./struct.ts";

const SYNC_FD = vk.VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT;

interface Signal {
  isHere: boolean;
}

/** A `VkFence` that is signalled after work, for other code to wait for. Made by `queue.createFence()`. */
export class VulkanFence extends NativeObject {
  /** The fence's end of life, which waits for the work. */
  readonly resource: Resource;
  readonly #handle: VkFence;
  readonly #device: OpenDevice;
  readonly #signal: Signal = { isHere: true };
  /** Returns whether a fence attached to it still waits for the signal. */
  readonly #isAwaited: () => boolean;

  /** Made by a queue. */
  constructor(base: VulkanBase, queue: VulkanQueue, waits: readonly Fence[]) {
    super();
    const undo: Undo = [];
    const device = this.#device = base.openDevice;
    const fence = this.#handle = createFence(device, undo, device.abilities.fenceSyncFd.exports);
    try {
      const call = { fn: "vkQueueSubmit", call: (lane: typeof queue.line.lane) => lane.mark([], [], fence) };
      const signalled = queue.line.submitRaw(call, waits);
      const signal = this.#signal;
      undo.push(() => signal.isHere && awaitSignal(device, fence));
      this.resource = new Resource({ name: "VkFence", owners: [queue.resource], undo });
      this.resource.usedBy(signalled);
      this.#isAwaited = noteFence(device, fence, this.resource, undo);
    } catch (error) {
      throw undone(error, undo, "making a fence");
    }
    finalizers.register(this, this.resource, this);
  }

  /** The `VkFence`. It lives until it is disposed. */
  get handle(): VkFence {
    this.resource.assertLive();
    return this.#handle;
  }

  /**
   * Its signal as a sync file (VK_KHR_external_fence_fd), whose fd the caller owns; -1 if the signal has come already.
   * The export takes the signal out of the `VkFence`, which is unsignalled afterwards.
   *
   * @throws {AccessError} while a fence that was attached to it waits for the signal, which would never come there.
   * @throws {InteropError} if the device exports no fences as sync files.
   */
  exportSyncFile(): number {
    this.resource.assertLive();
    assertAble(this.#device, "exports");
    if (this.#isAwaited()) {
      throw new AccessError("a fence that was attached to this VkFence waits for its signal, which would go away.", {
        api: "vulkan",
        fn: "vkGetFenceFdKHR",
        hint: "Wait for that one first, or make one more VkFence: queue.createFence().",
      });
    }
    const info = struct("VkFenceGetFdInfoKHR", { fence: this.#handle, handleType: SYNC_FD });
    const fd = this.#device.exportFd("vkGetFenceFdKHR", info);
    this.#signal.isHere = false;
    return fd;
  }
}

/** Imports a duplicate of the fd (vkImportFenceFdKHR). @throws {InteropError} if the device imports no sync files. */
export function importedFence(base: VulkanBase, fd: number): Fence {
  const { openDevice: device } = base;
  base.resource.assertLive();
  checks.fdIn(fd, "fd");
  assertAble(device, "imports");
  return allOrNothing("importing a fence", (undo) => {
    const own = syncFileIn(fd, checks);
    const fence = givenAway(own, "importing a fence", () => {
      const fence = createFence(device, undo, false);
      const flags = vk.VK_FENCE_IMPORT_TEMPORARY_BIT;
      const info = struct("VkImportFenceFdInfoKHR", { fence, flags, handleType: SYNC_FD, fd: own });
      check(device.extensions.vkImportFenceFdKHR!(device.handle, info), "vkImportFenceFdKHR");
      return fence;
    });
    return attachedFence(base, fence, undo);
  });
}

/** Waits for the signal, which comes just after its mark. If other code has reset the fence since, the signal has come. */
function awaitSignal({ handle }: OpenDevice, fence: VkFence): void {
  const code = vulkan().vkWaitForFences(handle, 1, BigUint64Array.of(fence), 1, LONGEST_NS);
  if (code !== vk.VK_TIMEOUT && code !== VK_ERROR_DEVICE_LOST) check(code, "vkWaitForFences");
}

const LONGEST_NS = 10_000_000n;

function createFence(device: OpenDevice, undo: Undo, exports: boolean): VkFence {
  const pNext = exports ? struct("VkExportFenceCreateInfo", { handleTypes: SYNC_FD }) : undefined;
  return device.create<VkFence>("Fence", struct("VkFenceCreateInfo", { pNext }), undo);
}

/** What an export and an import need, and what to do if a device lacks it. */
const ABLE = {
  exports: {
    fn: "vkGetFenceFdKHR",
    are: "do not become",
    hint: "Wait for the VkFence instead, by vulkan.attachFence(handle), or pass the queue's own fence as `after`.",
  },
  imports: {
    fn: "vkImportFenceFdKHR",
    are: "are not",
    hint: "Take it as a fence of the host's: dmabuf.fence(fd). Every queue's `after` takes that.",
  },
} as const;

function assertAble(device: OpenDevice, side: "exports" | "imports"): void {
  if (device.abilities.fenceSyncFd[side]) return;
  const { fn, are, hint } = ABLE[side];
  const { reason } = device.lacks("VK_KHR_external_fence_fd") ??
    { reason: `${device.facts.name} reports that its fences ${are} sync files.` };
  throw new InteropError(reason, { api: "vulkan", fn, hint });
}
