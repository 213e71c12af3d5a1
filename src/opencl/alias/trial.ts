import type { Fence } from "../../core/device/fence.ts";
import { until } from "../../core/device/proofs.ts";
import type { Undo } from "../../core/life/undo.ts";
import type { BaseContext, BaseKernel, BaseQueue } from "../base_context.ts";
import { UserEvent } from "../queues/event.ts";
import { type Bind, programFor, queuesFor, submit, value } from "./kernels.ts";

/**
 * How long to poll for what an aliasing device would have shown long ago, in milliseconds: one try each, because a busy
 * machine can keep device and CPU apart for that long. Only a "no" takes all of them.
 */
const PATIENCE_MS = [30, 100, 300];

/** Milliseconds until the experiment gives up on a device that does not finish the kernel. */
const LATEST_MS = 2000;

/**
 * Turns that a kernel works between two pixels: for a millisecond or so at first, and longer each time, up to where a
 * busy machine gives this thread its turn meanwhile. llvmpipe cuts a loop short at 65,535.
 */
const TURNS = { first: 4_000, most: 60_000 };

/** How often this thread has to see one of them without the other: a copy made afterwards brings both at once. */
const SIGHTINGS = 100;

/**
 * `answer` reverses the pixels. `early_late` writes a pixel, works for some turns, and writes the next. A turn is 256
 * squares of `n`: a compiler would make one step of as many linear ones.
 */
const KERNELS = `
#define STEP n = n * n + 1013904223u;
#define FOUR(x) x x x x
kernel void answer(FROM from, TO to) {
  int x = get_global_size(0) - 1 - get_global_id(0);
  int y = get_global_size(1) - 1 - get_global_id(1);
  int z = get_global_size(2) - 1 - get_global_id(2);
  PIXEL pixel = READ(from, AT);
  x = get_global_id(0); y = get_global_id(1); z = get_global_id(2);
  WRITE(to, AT, pixel);
}
kernel void early_late(FROM from, TO to, uint turns) {
  int x = 0, y = 0, z = 0;
  PIXEL early = READ(from, AT);
  WRITE(to, AT, early);
  uint n = turns;
  for (uint i = 0; i < turns; i++) { FOUR(FOUR(FOUR(FOUR(STEP)))) }
  x = n == 0u ? 2 : 1;
  PIXEL late = READ(from, AT);
  WRITE(to, AT, late);
}`;

export interface Sample {
  readonly rows: readonly Uint8Array<ArrayBuffer>[];
  readonly bind: Bind;
}

export interface Specimen {
  /**
   * OpenCL C: `FROM` and `TO`, the parameters' types; `PIXEL`; `AT`, the pixel at (x, y, z); `READ` and `WRITE` one.
   */
  readonly definitions: string;
  readonly from: Sample;
  readonly to: Sample;
  readonly extent: readonly number[];
  readonly pixel: number;
  /** Random pixels, as bytes that come through the device's registers as they are. */
  random(byteLength: number): Uint8Array<ArrayBuffer>;
}

/**
 * Shows whether the devices of a context use the memory that the CPU sees. Each device has to pass all of it, one after
 * the other on the same memory: a driver may move a buffer between several devices, and leave it in place for one.
 * 1. The device has read the bytes before. The CPU writes new random bytes, the device writes them back, and the CPU, which polls,
 *    sees them. Between them are an enqueue and a flush, and no finish, map, read or migrate.
 * 2. The same, but the CPU writes after the enqueue, before a user event lets the kernel start. This finds a device that
 *    fetches the bytes at every enqueue.
 * 3. On CPU devices, whose memory is coherent, the CPU sees one pixel of a kernel long before the next. This finds a device
 *    that brings the bytes back when a kernel ends.
 *
 * A constant, a pointer that equals the one passed in, or anything seen after a finish, is not evidence.
 */
export class Trial {
  readonly #context: BaseContext;
  readonly #specimen: Specimen;
  readonly #queues: readonly BaseQueue[];
  readonly #answer: BaseKernel;
  readonly #earlyLate: BaseKernel;

  constructor(context: BaseContext, specimen: Specimen, undo: Undo) {
    this.#context = context;
    this.#specimen = specimen;
    const program = programFor(context, specimen.definitions + KERNELS, undo);
    this.#answer = program.kernel("answer");
    this.#earlyLate = program.kernel("early_late");
    this.#queues = queuesFor(context, undo);
  }

  run(): string | undefined {
    for (const queue of this.#queues) {
      const missed = this.#runOn(queue);
      if (missed !== undefined) return this.#queues.length === 1 ? missed : `${queue.device.name}: ${missed}`;
    }
    return undefined;
  }

  /** Runs each kernel once: the device has read the bytes then, and nothing is left to compile. */
  warmUp(queue: BaseQueue): void {
    this.#ask();
    this.#submitAnswer(queue);
    this.#submitEarlyLate(queue, 1);
    queue.finish();
  }

  #runOn(queue: BaseQueue): string | undefined {
    this.warmUp(queue);
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

  #answersDirectly(queue: BaseQueue, patience: number): boolean {
    const there = this.#ask();
    return sees(queue, there, this.#submitAnswer(queue), patience);
  }

  #answersBehindGate(queue: BaseQueue, patience: number): boolean {
    const gate = new UserEvent(this.#context.handle);
    let there: () => boolean;
    let fence: Fence;
    let isAsked = false;
    try {
      fence = this.#submitAnswer(queue, gate);
      queue.flush();
      there = this.#ask();
      isAsked = true;
    } finally {
      gate.set(isAsked);
    }
    return sees(queue, there, fence, patience);
  }

  /** True if, at some time while the kernel runs, its first pixel is visible and the second is not. */
  #showsWhileRunning(queue: BaseQueue): boolean {
    let turns = TURNS.first;
    for (const end = performance.now() + LATEST_MS; performance.now() < end; turns = Math.min(2 * turns, TURNS.most)) {
      const { early, late } = this.#submitEarlyLate(queue, turns);
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

  /**
   * Random pixels where the device reads, spoilt bytes where it writes. Returns what looks in memory for the result.
   */
  #ask(): () => boolean {
    const { from, to, pixel, random } = this.#specimen;
    const question = from.rows.map((row) => random(row.length));
    from.rows.forEach((row, i) => row.set(question[i]));
    const expected = question.map((row) => turned(row, pixel)).reverse();
    to.rows.forEach((row, i) => row.set(expected[i].map((byte) => ~byte)));
    const lastRow = to.rows.length - 1;
    const last = to.rows[lastRow].length - 1;
    return () =>
      Atomics.load(to.rows[lastRow], last) === expected[lastRow][last] &&
      to.rows.every((row, i) => expected[i].every((byte, at) => byte === row[at]));
  }

  #submitAnswer(queue: BaseQueue, behind?: UserEvent): Fence {
    const { extent, from, to } = this.#specimen;
    return submit(queue, this.#answer, extent, [from.bind, to.bind], behind);
  }

  /** Submits the kernel that writes a pixel, works for so many turns, and writes the next; how each of them is seen. */
  #submitEarlyLate(queue: BaseQueue, turns: number): { early(): boolean; late(): boolean } {
    const { from, to, pixel, random } = this.#specimen;
    const pixels = random(2 * pixel);
    const [row] = to.rows;
    from.rows[0].set(pixels);
    row.set(pixels.map((byte) => ~byte));
    submit(queue, this.#earlyLate, [1], [from.bind, to.bind, value(new Uint32Array([turns]))]);
    return {
      early: () => Atomics.load(row, 0) === pixels[0],
      late: () => Atomics.load(row, pixel) === pixels[pixel],
    };
  }
}

function turned(row: Uint8Array, pixel: number): Uint8Array {
  return row.map((_, i) => row[row.length - pixel - i + 2 * (i % pixel)]);
}

/** Polls memory, and nothing else, until the result is there; asks the event only once patience has run out. */
function sees(queue: BaseQueue, there: () => boolean, fence: Fence, patience: number): boolean {
  queue.flush();
  const end = performance.now() + LATEST_MS;
  do {
    if (until(there, patience)) return true;
  } while (!fence.line.isOver(fence.mark) && performance.now() < end);
  return false;
}
