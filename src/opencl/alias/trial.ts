import { NULL } from "../../../ffi/address.ts";
import type { Fence } from "../../core/device/fence.ts";
import type { Undo } from "../../core/life/undo.ts";
import { pinned } from "../../core/native/pin.ts";
import type { Scratch } from "./memory.ts";
import type { OpenCLContext } from "../context.ts";
import { opencl } from "../library.ts";
import type { OpenCLKernel } from "../kernel.ts";
import type { OpenCLQueue } from "../queue.ts";
import { check } from "../errors.ts";
import { UserEvent } from "../queues/event.ts";

/**
 * How long to poll for what an aliasing device would have shown long ago, in milliseconds: one try each, because a busy
 * machine can keep device and CPU apart for that long. Only "no" takes all of them.
 */
const PATIENCE_MS = [30, 100, 300];

/** How long a device may take to finish the kernel before the proof gives up, in milliseconds. */
const LATEST_MS = 2000;

/**
 * Turns that a kernel works between two bytes: for a millisecond or so at first, and longer each time, up to where a
 * busy machine gives this thread its turn meanwhile. llvmpipe cuts a loop short at 65,535.
 */
const TURNS = { first: 4_000, most: 60_000 };

/** How often this thread has to see one of them without the other: a copy made afterwards brings both at once. */
const SIGHTINGS = 100;

/** `STEPS`, in OpenCL C: a turn is 256 squares of `x`; a compiler makes one step of as many linear ones. */
export const STEPS = `
#define STEP x = x * x + 1013904223u;
#define FOUR(x) x x x x
#define STEPS FOUR(FOUR(FOUR(FOUR(STEP))))`;

/** Memory under test, with the CPU's look at it, and the kernels that read and write it. */
export interface Specimen {
  /**
   * Puts fresh random bytes where the device reads, and spoils every byte where it answers; what it answers says, by
   * looking at memory alone, whether the answer is there.
   */
  ask(): () => boolean;
  /** Submits the kernel that answers, behind an event if one is given. */
  submitAnswer(queue: OpenCLQueue, behind?: UserEvent): Fence;
  /** Submits the kernel that writes one place, works for so many turns, and writes another; how each of them is seen. */
  submitEarlyLate(queue: OpenCLQueue, turns: number): { early(): boolean; late(): boolean };
}

/** One run of the proof: a queue of its own for each device. */
export class Trial {
  readonly #context: OpenCLContext;
  readonly #specimen: Specimen;
  readonly #queues: readonly OpenCLQueue[];

  constructor(context: OpenCLContext, specimen: Specimen, undo: Undo) {
    this.#context = context;
    this.#specimen = specimen;
    this.#queues = context.devices.map((device) => {
      const queue = context.createQueue({ device });
      undo.push(() => queue[Symbol.dispose]());
      return queue;
    });
  }

  /** What kept it from being an alias; undefined where nothing did. */
  run(): string | undefined {
    for (const queue of this.#queues) {
      const seen = this.#runOn(queue);
      if (seen !== undefined) return this.#queues.length === 1 ? seen : `${queue.device.name}: ${seen}`;
    }
    return undefined;
  }

  #runOn(queue: OpenCLQueue): string | undefined {
    // Once beforehand: the device has read the bytes, and nothing is left to compile.
    this.#specimen.ask();
    this.#specimen.submitAnswer(queue);
    this.#specimen.submitEarlyLate(queue, 1);
    queue.finish();
    if (!PATIENCE_MS.some((patience) => this.#answersDirectly(queue, patience))) {
      return "the CPU did not see what the device wrote, before a finish or map";
    }
    if (!PATIENCE_MS.some((patience) => this.#answersBehindGate(queue, patience))) {
      return "the device did not see what the CPU wrote after the enqueue";
    }
    if (queue.device.type === "cpu" && !this.#showsWhileRunning(queue)) {
      return "what the device wrote was seen only after the kernel had ended";
    }
    return undefined;
  }

  #answersDirectly(queue: OpenCLQueue, patience: number): boolean {
    const there = this.#specimen.ask();
    return sees(queue, there, this.#specimen.submitAnswer(queue), patience);
  }

  #answersBehindGate(queue: OpenCLQueue, patience: number): boolean {
    const gate = new UserEvent(this.#context.handle);
    let there: () => boolean;
    let fence: Fence;
    let isAsked = false;
    try {
      fence = this.#specimen.submitAnswer(queue, gate);
      queue.flush();
      there = this.#specimen.ask();
      isAsked = true;
    } finally {
      gate.set(isAsked);
    }
    return sees(queue, there, fence, patience);
  }

  /** The kernel writes a place, works for a while, and writes the next: is there a time when one is seen and not the other? */
  #showsWhileRunning(queue: OpenCLQueue): boolean {
    let turns = TURNS.first;
    for (const end = performance.now() + LATEST_MS; performance.now() < end; turns = Math.min(2 * turns, TURNS.most)) {
      const { early, late } = this.#specimen.submitEarlyLate(queue, turns);
      queue.flush();
      let sightings = 0;
      until(() => {
        if (!early()) return false;
        if (late()) return true;
        return ++sightings === SIGHTINGS;
      }, PATIENCE_MS[1]);
      queue.finish();
      if (sightings === SIGHTINGS) return true;
    }
    return false;
  }
}

/** Polls memory, and nothing else, until the answer is there; asks the event only once patience has run out. */
function sees(queue: OpenCLQueue, there: () => boolean, fence: Fence, patience: number): boolean {
  queue.flush();
  const end = performance.now() + LATEST_MS;
  do {
    if (until(there, patience)) return true;
  } while (!fence.line.isOver(fence.mark) && performance.now() < end);
  return false;
}

/** Passes an argument to a kernel. */
export type Bind = Scratch["bind"];

/** Passes an argument by its bytes. */
export function value(bytes: ArrayBufferView<ArrayBuffer>): Bind {
  return (kernel, index) =>
    pinned(bytes, "opencl", (address) => {
      check(opencl().clSetKernelArg(kernel, index, BigInt(bytes.byteLength), address), "clSetKernelArg");
    });
}

/** Submits a kernel of a proof. */
export function submit(
  queue: OpenCLQueue,
  kernel: OpenCLKernel,
  items: readonly number[],
  args: readonly Bind[],
  behind?: UserEvent,
): Fence {
  args.forEach((bind, i) => bind(kernel.handle, i));
  const dimensions = items.length;
  const { clEnqueueNDRangeKernel } = opencl();
  return pinned(BigUint64Array.from(items, BigInt), "opencl", (global) =>
    queue.line.submitRaw({
      fn: "clEnqueueNDRangeKernel",
      call(lane) {
        if (behind !== undefined) lane.waitFor(behind.event);
        const { queue, waitCount, waitList, slot } = lane;
        return clEnqueueNDRangeKernel(queue, kernel.handle, dimensions, NULL, global, NULL, waitCount, waitList, slot);
      },
    }));
}

/** Polls until a condition holds; false where it does not, though it was looked at after all of that time. */
function until(holds: () => boolean, milliseconds: number): boolean {
  const end = performance.now() + milliseconds;
  for (;;) {
    const last = performance.now() >= end;
    if (holds()) return true;
    if (last) return false;
  }
}
