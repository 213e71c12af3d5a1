import type { VkQueue } from "../../ffi/vulkan/handles.ts";
import { SemaphoreQueue } from "../core/device/foreign_semaphore.ts";
import { Line } from "../core/device/line.ts";
import type { CommandOptions } from "../core/device/queue.ts";
import type { Commands } from "../core/contract.ts";
import { finalizers } from "../core/life/finalizers.ts";
import type { Resource } from "../core/life/resource.ts";
import type { VulkanBase } from "./base.ts";
import { VulkanFence } from "./fence.ts";
import type { VulkanImage } from "./images/tensor.ts";
import { VulkanLane } from "./lane.ts";
import { VulkanCommands } from "./queue_commands.ts";
import type { VulkanTensor } from "./tensor.ts";

/** A queue, which runs commands in order. Work on a tensor waits for the earlier work on it. */
export class VulkanQueue extends SemaphoreQueue<VulkanLane, VulkanTensor | VulkanImage> {
  /** Its line of work. For mappers. */
  override readonly line: Line<VulkanLane>;
  /** Vulkan's commands. */
  protected override readonly commands: Commands<VulkanLane, VulkanTensor | VulkanImage>;
  /** Its context. */
  override readonly context: VulkanBase;

  /** Made by the context, once, and by `vulkan.createQueue()`. */
  constructor(base: VulkanBase, line: Line<VulkanLane>) {
    super();
    this.context = base;
    this.commands = new VulkanCommands(base);
    this.line = line;
    finalizers.register(this, this.resource, this);
  }

  /** The `VkQueue`, which other queues of the context may share. Declare work that you submit to it by `tensor.usedBy`. */
  get handle(): VkQueue {
    this.resource.assertLive();
    return this.line.lane.queue;
  }

  /**
   * A `VkFence` that is signalled behind all commands so far, for other code to wait for. It can be exported as a sync file if
   * the device has VK_KHR_external_fence_fd.
   *
   * @example
   * ```ts
   * import { VulkanContext } from "@samepage/interop/vulkan";
   *
   * using vulkan = VulkanContext.open();
   * using fence = vulkan.queue.createFence(); // fence.handle is the VkFence
   * await vulkan.attachFence(fence.handle).wait();
   * ```
   */
  createFence(options: CommandOptions = {}): VulkanFence {
    this.resource.assertLive();
    return new VulkanFence(this.context, this, this.after(options));
  }
}

export function newLine(base: Pick<VulkanBase, "openDevice" | "driver" | "name">, queue: VkQueue, owner?: Resource) {
  const { openDevice, driver, name } = base;
  return new Line<VulkanLane>({
    driver,
    name: `vulkan queue (${name})`,
    ...(owner === undefined ? {} : { owners: [owner] }),
    open: (events) => new VulkanLane(openDevice, queue, events),
  });
}
