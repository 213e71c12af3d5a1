import { ForeignSemaphore, importedSemaphore, type ImportSemaphoreOptions } from "../core/device/foreign_semaphore.ts";
import type { VulkanBase } from "./base.ts";
import type { VulkanQueue } from "./queue.ts";

/** A semaphore of another `VkDevice` or another API, as a `VkSemaphore`: `vulkan.importSemaphore()`. */
export class VulkanSemaphore extends ForeignSemaphore {
  /** Its context. */
  override readonly context: VulkanBase;

  /** Made by the context. */
  constructor(context: VulkanBase & { readonly queue: VulkanQueue }, fd: number, options: ImportSemaphoreOptions) {
    super(importedSemaphore(context.queue, fd, options), context.resource);
    this.context = context;
  }
}
