import { type Address, NULL } from "../../ffi/address.ts";
import * as vk from "../../ffi/vulkan/constants.ts";
import { VK_ERROR_DEVICE_LOST } from "../../ffi/vulkan/errors.ts";
import type { VkCommandBuffer, VkCommandPool, VkFence, VkQueue, VkSemaphore } from "../../ffi/vulkan/handles.ts";
import { VkSemaphoreWaitInfo } from "../../ffi/vulkan/structs.ts";
import type { Lane } from "../core/device/lanes.ts";
import type { LineEvents, Turns } from "../core/contract.ts";
import { type Undo, undoAll, undone } from "../core/life/undo.ts";
import { addressOf } from "../core/native/pin.ts";
import { onThread } from "../core/native/thread_memory.ts";
import { check, vulkanError } from "./errors.ts";
import { vulkan } from "./library.ts";
import type { OpenDevice } from "./open_device.ts";
import type { FdSource } from "./fds.ts";
import { createSemaphore, fdsOf } from "./semaphores.ts";
import { type Struct, struct } from "./struct.ts";
import { Submission } from "./submission.ts";

const WAIT_INFO = VkSemaphoreWaitInfo.size;

export const FOREVER: bigint = 2n ** 64n - 1n;

const NONE: readonly VkSemaphore[] = [];

/** Memory that a command uses. It is acquired from other APIs on its first use. */
export interface Used {
  /** The record of whose turn it is; left out if no other library uses it. */
  readonly turns?: Turns | undefined;
  /** Records the barriers that have to come before the command. */
  acquire(commands: VkCommandBuffer, family: number): void;
  /** Records that the command was submitted. */
  taken(): void;
}

interface Slot {
  readonly commands: VkCommandBuffer;
  mark: number;
  isOpen: boolean;
}

/**
 * The lane of a line: a queue, a timeline semaphore whose values are the line's marks, and command buffers that are reused
 * once their commands are over. Each command is one submit. Functions that record commands throw if they fail; a call returns
 * the code of its submit.
 */
export class VulkanLane implements Lane {
  /** The device. */
  readonly device: OpenDevice;
  /** The queue. */
  readonly queue: VkQueue;
  /** The semaphore whose value is the newest mark that is over. */
  readonly timeline: VkSemaphore;
  readonly #timelineFds: FdSource | undefined;
  readonly #events: LineEvents;
  readonly #pool: VkCommandPool;
  readonly #undo: Undo = [() => this.#leaveTimeline()];
  readonly #timelineUndo: Undo = [];
  /** This lane until it is closed, and others whose commands wait for its timeline. */
  #timelineUsers = 1;
  /** The oldest first. */
  readonly #slots: Slot[] = [];
  readonly #begin = struct("VkCommandBufferBeginInfo", {
    flags: vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
  });
  /** A barrier on this queue: later commands see the writes of earlier ones. */
  readonly #order = memoryBarrier(vk.VK_ACCESS_MEMORY_READ_BIT | vk.VK_ACCESS_MEMORY_WRITE_BIT);
  /** A barrier that shows the writes to the CPU, once it knows that the command is over. */
  readonly #toHost = memoryBarrier(vk.VK_ACCESS_HOST_READ_BIT | vk.VK_ACCESS_HOST_WRITE_BIT);
  readonly #submission = new Submission();
  readonly #value = new BigUint64Array(1);
  readonly #valueAt: Address;
  #newest = 0;
  #over = 0;
  /** @see {@link signalledBehind} */
  #tail: VkSemaphore | undefined;
  #isLoose = false;

  /** Makes the timeline and the command pool. */
  constructor(device: OpenDevice, queue: VkQueue, events: LineEvents) {
    this.device = device;
    this.queue = queue;
    this.#events = events;
    this.#valueAt = addressOf(this.#value, "vulkan");
    try {
      const { timelineFd: { exports } } = device.abilities;
      this.timeline = createSemaphore(device, "timeline-fd", this.#timelineUndo, exports);
      if (exports) this.#timelineFds = fdsOf(device, this.timeline, "timeline-fd", this.#undo);
      const info = struct("VkCommandPoolCreateInfo", {
        flags: vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
        queueFamilyIndex: device.handles.queueFamily,
      });
      this.#pool = device.create<VkCommandPool>("CommandPool", info, this.#undo);
    } catch (error) {
      throw undone(error, this.#undo, "making a line of commands");
    }
  }

  /** Makes the next command wait for a semaphore: for a value of a timeline, or for a binary one's signal. */
  waitFor(semaphore: VkSemaphore, value = 0n): void {
    this.#submission.waitFor(semaphore, value);
  }

  /** Makes the next command wait for another lane's mark. That lane's timeline is kept until the command is over. */
  waitBeside({ timeline }: VulkanLane, mark: number): void {
    this.#submission.waitFor(timeline, BigInt(mark));
    this.#submission.waitApart();
  }

  /** Forgets the waits of a command that was refused. */
  refused(): void {
    this.#submission.forgetWaits();
  }

  /** Records that the driver accepted the next mark's command. */
  submitted(mark: number): void {
    this.#newest = mark;
    this.#submission.forgetWaits();
  }

  /** Records commands, and submits them as the next mark. Returns the submit's code. */
  run(used: readonly Used[], record: (commands: VkCommandBuffer) => void): number {
    const slot = this.#slot();
    const { commands } = slot;
    if (slot.isOpen) check(vulkan().vkResetCommandBuffer(commands, 0), "vkResetCommandBuffer");
    check(vulkan().vkBeginCommandBuffer(commands, this.#begin.address), "vkBeginCommandBuffer");
    slot.isOpen = true;
    const all = vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    barrier(commands, all, all, this.#order.address);
    const each = used.length > 1 ? [...new Set(used)] : used; // planes share a buffer
    for (const one of each) one.acquire(commands, this.device.handles.queueFamily);
    record(commands);
    barrier(commands, all, vk.VK_PIPELINE_STAGE_HOST_BIT, this.#toHost.address);
    check(vulkan().vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    slot.isOpen = false;
    this.#submission.begin(commands);
    for (const { turns } of each) if (turns !== undefined) this.#takeTurn(turns);
    this.#signalMark(); // the last signal: Mesa's queue touches later ones after it, when their semaphores may have ended
    const code = this.#submit();
    if (code !== 0) return code;
    slot.mark = this.#newest + 1;
    for (const one of each) one.taken();
    return code;
  }

  /** A new fd of the timeline, if the device exports it. */
  exportTimeline(): number {
    return this.#timelineFds!.take();
  }

  /** An empty submit: a mark behind everything that it waits for, which may signal other semaphores too, or a fence. */
  mark(signals: readonly VkSemaphore[] = NONE, values: readonly bigint[] = [], fence?: VkFence): number {
    this.#beginMark();
    for (let i = 0; i < signals.length; i++) this.#submission.signal(signals[i], values[i]);
    return this.#submit(fence);
  }

  /** A binary semaphore, signalled behind all commands so far. One is enough, because an export takes the signal out of it. */
  signalledBehind(): VkSemaphore {
    const semaphore = this.#tail ??= createSemaphore(this.device, "sync-fd", this.#undo, true);
    this.#submission.begin();
    this.#submission.signal(semaphore, 0n);
    this.#isLoose = true;
    check(this.#submit(), "vkQueueSubmit");
    return semaphore;
  }

  /** The newest mark that is over: all marks, if the device is lost. */
  poll(mark: number): number {
    if (mark <= this.#over) return this.#over;
    const { vkGetSemaphoreCounterValue } = vulkan();
    const code = vkGetSemaphoreCounterValue(this.device.handle, this.timeline, this.#valueAt);
    if (code === VK_ERROR_DEVICE_LOST) return this.#lost("vkGetSemaphoreCounterValue");
    check(code, "vkGetSemaphoreCounterValue");
    return this.#over = Number(this.#value[0]);
  }

  /** Blocks until a mark is over. */
  block(mark: number): void {
    const code = vulkan().vkWaitSemaphores(this.device.handle, this.#waitInfo(mark), FOREVER);
    if (code === VK_ERROR_DEVICE_LOST) this.#lost("vkWaitSemaphores");
    else check(code, "vkWaitSemaphores");
  }

  /** Waits for a mark on another thread. */
  async waitElsewhere(mark: number): Promise<void> {
    const { device, timeline } = this;
    const code = await device.waiting(() =>
      onThread("vulkan", ({ address, words }) => {
        const [semaphores, values] = [WAIT_INFO / 8, WAIT_INFO / 8 + 1];
        const at = (word: number) => address + BigInt(8 * word);
        const pointers = { pSemaphores: at(semaphores), pValues: at(values) };
        const info = struct("VkSemaphoreWaitInfo", { semaphoreCount: 1, ...pointers });
        words.set(new BigUint64Array(info.buffer));
        words.set([timeline, BigInt(mark)], semaphores);
        return vulkan().vkWaitSemaphoresAsync(device.handle, words, FOREVER);
      })
    );
    if (code !== VK_ERROR_DEVICE_LOST) check(code, "vkWaitSemaphores"); // a poll reports the loss
  }

  /** Keeps the timeline until the returned function is called. */
  keepTimeline(): () => void {
    this.#timelineUsers++;
    return () => this.#leaveTimeline();
  }

  /** Destroys the pool and the semaphores. All marks are over. */
  close(): void {
    const undo: Undo = [() => undoAll(this.#undo, "releasing a line's objects")];
    if (this.#isLoose) undo.push(() => check(vulkan().vkQueueWaitIdle(this.queue), "vkQueueWaitIdle"));
    undoAll(undo, "closing a queue");
  }

  #leaveTimeline(): void {
    if (--this.#timelineUsers === 0) undoAll(this.#timelineUndo, "releasing a timeline");
  }

  #lost(fn: string): number {
    if (this.#over < this.#newest) {
      this.#events.failed(this.#over + 1, vulkanError(VK_ERROR_DEVICE_LOST, fn), true);
      this.#over = this.#newest;
    }
    return this.#over;
  }

  #waitInfo(mark: number) {
    return struct("VkSemaphoreWaitInfo", {
      semaphoreCount: 1,
      pSemaphores: new BigUint64Array([this.timeline]),
      pValues: new BigUint64Array([BigInt(mark)]),
    });
  }

  /** A command buffer whose commands are over; a new one if all are in use. It becomes the newest. */
  #slot(): Slot {
    const [oldest] = this.#slots;
    const isFree = oldest !== undefined &&
      oldest.mark <= (oldest.mark <= this.#over ? this.#over : this.poll(oldest.mark));
    const slot = isFree ? this.#slots.shift()! : this.#newSlot();
    slot.mark = this.#newest + 1; // so that the order of the slots is that of their marks
    this.#slots.push(slot);
    return slot;
  }

  #newSlot(): Slot {
    const info = struct("VkCommandBufferAllocateInfo", {
      commandPool: this.#pool,
      level: vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY,
      commandBufferCount: 1,
    });
    const out = new BigUint64Array(1);
    check(vulkan().vkAllocateCommandBuffers(this.device.handle, info, out), "vkAllocateCommandBuffers");
    return { commands: out[0] as VkCommandBuffer, mark: 0, isOpen: false };
  }

  #submit(fence?: VkFence): number {
    const code = this.#submission.submit(this.queue, fence);
    if (code !== 0) this.#isLoose = true;
    return code;
  }

  /** Makes the command the next user of memory that another library uses too. */
  #takeTurn({ semaphore, value }: Turns): void {
    this.#submission.waitFor(semaphore as VkSemaphore, value);
    this.#submission.waitApart(); // the semaphore may end with its owner's frame
    this.#submission.signal(semaphore as VkSemaphore, value + 1n);
  }

  #beginMark(): void {
    this.#submission.begin();
    this.#signalMark();
  }

  #signalMark(): void {
    this.#submission.signal(this.timeline, BigInt(this.#newest + 1));
  }
}

function memoryBarrier(dstAccessMask: number): Struct {
  return struct("VkMemoryBarrier", {
    srcAccessMask: vk.VK_ACCESS_MEMORY_WRITE_BIT,
    dstAccessMask,
  });
}

function barrier(commands: VkCommandBuffer, from: number, to: number, memory: Address): void {
  vulkan().vkCmdPipelineBarrier(commands, from, to, 0, 1, memory, 0, NULL, 0, NULL);
}
