import * as vk from "../../ffi/vulkan/constants.ts";
import type { VkCommandBuffer, VkFence, VkQueue, VkSemaphore } from "../../ffi/vulkan/handles.ts";
import * as layouts from "../../ffi/vulkan/structs.ts";
import { vulkan } from "./library.ts";
import { type Struct, struct } from "./struct.ts";

const NO_FENCE = 0n as VkFence;

interface Points {
  readonly semaphores: BigUint64Array<ArrayBuffer>;
  readonly values: BigUint64Array<ArrayBuffer>;
}

/** The arguments of vkQueueSubmit, filled in anew for each call. Their memory does not move. */
export class Submission {
  readonly #commands = new BigUint64Array(1);
  /** A command signals its mark, and perhaps other semaphores. */
  #signals = points(2);
  #waits = points(8);
  #waitCount = 0;
  #waitsApart = false;
  #signalCount = 0;
  #values: Struct;
  #info: Struct;

  constructor() {
    [this.#values, this.#info] = this.#structs();
  }

  begin(commands?: VkCommandBuffer): void {
    this.#commands[0] = commands ?? 0n;
    this.#signalCount = 0;
  }

  /** Forgets the waits of the last command, which was accepted or refused. */
  forgetWaits(): void {
    this.#waitCount = 0;
    this.#waitsApart = false;
  }

  /** Makes the next command wait for a semaphore; `value` is for timelines. */
  waitFor(semaphore: VkSemaphore, value: bigint): void {
    if (this.#waitCount === this.#waits.values.length) this.#grow(() => this.#waits = grown(this.#waits));
    this.#waits.semaphores[this.#waitCount] = semaphore;
    this.#waits.values[this.#waitCount++] = value;
  }

  /**
   * Puts the next command's waits into a submit of their own. After a submit has signalled, Mesa's queue touches once more the
   * timelines that it waited for (`vk_queue_submit_cleanup`, with emulated timelines, as in lavapipe), and crashes if they are
   * destroyed by then. That is over before the next submit begins.
   */
  waitApart(): void {
    this.#waitsApart = true;
  }

  signal(semaphore: VkSemaphore, value: bigint): void {
    if (this.#signalCount === this.#signals.values.length) this.#grow(() => this.#signals = grown(this.#signals));
    this.#signals.semaphores[this.#signalCount] = semaphore;
    this.#signals.values[this.#signalCount++] = value;
  }

  submit(queue: VkQueue, fence: VkFence = NO_FENCE): number {
    if (!this.#waitsApart) return this.#submit(queue, this.#commandCount, this.#waitCount, this.#signalCount, fence);
    const code = this.#submit(queue, 0, this.#waitCount, 0, NO_FENCE);
    return code === 0 ? this.#submit(queue, this.#commandCount, 0, this.#signalCount, fence) : code;
  }

  #submit(queue: VkQueue, commands: number, waits: number, signals: number, fence: VkFence): number {
    const [info, values] = [layouts.VkSubmitInfo.fields, layouts.VkTimelineSemaphoreSubmitInfo.fields];
    this.#info.put(info.commandBufferCount, commands);
    this.#info.put(info.waitSemaphoreCount, waits);
    this.#info.put(info.signalSemaphoreCount, signals);
    this.#values.put(values.waitSemaphoreValueCount, waits);
    this.#values.put(values.signalSemaphoreValueCount, signals);
    return vulkan().vkQueueSubmit(queue, 1, this.#info, fence);
  }

  #grow(grow: () => void): void {
    grow();
    [this.#values, this.#info] = this.#structs();
  }

  get #commandCount(): number {
    return this.#commands[0] === 0n ? 0 : 1;
  }

  #structs(): [Struct, Struct] {
    const values = struct("VkTimelineSemaphoreSubmitInfo", {
      pWaitSemaphoreValues: this.#waits.values,
      pSignalSemaphoreValues: this.#signals.values,
    });
    const info = struct("VkSubmitInfo", {
      pNext: values,
      pWaitSemaphores: this.#waits.semaphores,
      pWaitDstStageMask: new Uint32Array(this.#waits.values.length).fill(vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT),
      pCommandBuffers: this.#commands,
      pSignalSemaphores: this.#signals.semaphores,
    });
    return [values, info];
  }
}

/** A copy with twice the room. */
function grown({ semaphores, values }: Points): Points {
  const more = points(2 * values.length);
  more.semaphores.set(semaphores);
  more.values.set(values);
  return more;
}

function points(count: number): Points {
  return { semaphores: new BigUint64Array(count), values: new BigUint64Array(count) };
}
