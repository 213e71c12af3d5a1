import { CL_MEM_COPY_HOST_PTR } from "../../ffi/opencl/constants.ts";
import type { Fence } from "../core/fence.ts";
import { addressOf } from "../core/pin.ts";
import type { Undo } from "../core/undo.ts";
import { bound, type MemoryKind, type Scratch } from "./alias_memory.ts";
import type { OpenCLContext } from "./context.ts";
import { check } from "./errors.ts";
import { OpenCLUserEvent } from "./user_event.ts";
import type { Point } from "./point.ts";
import type { OpenCLKernel } from "./kernel.ts";
import { opencl } from "./library.ts";
import type { OpenCLQueue } from "./queue.ts";
import { createBuffer } from "./tensor.ts";

/** Bytes that the device reads, and as many that it writes. */
const HALF = 4096;

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

/** A turn of the second kernel is 256 squares: a compiler makes one step of as many linear ones. */
const SOURCE = `
#define STEP x = x * x + 1013904223u;
#define FOUR(x) x x x x
#define STEPS FOUR(FOUR(FOUR(FOUR(STEP))))
kernel void answer(global uchar* block, global const uchar* key, uint n) {
  size_t i = get_global_id(0);
  block[n + i] = block[i] ^ key[i];
}
kernel void early_late(global volatile uchar* block, uchar early, uchar late, uint turns) {
  block[0] = early;
  uint x = early;
  for (uint i = 0; i < turns; i++) { STEPS }
  block[1] = late ^ (uchar)(x == 0u);
}`;

/** One run of the proof: a block of memory under test, a queue of its own for each device, and the two kernels. */
export class Trial {
  readonly #context: OpenCLContext;
  readonly #queues: readonly OpenCLQueue[];
  readonly #answer: OpenCLKernel;
  readonly #earlyLate: OpenCLKernel;
  readonly #block: Scratch;
  readonly #random: Uint8Array<ArrayBuffer> = crypto.getRandomValues(new Uint8Array(HALF));
  readonly #bindKey: Scratch["bind"];

  constructor(context: OpenCLContext, kind: MemoryKind, undo: Undo) {
    this.#context = context;
    const program = context.program(SOURCE);
    undo.push(() => program[Symbol.dispose]());
    this.#answer = program.kernel("answer");
    this.#earlyLate = program.kernel("early_late");
    this.#block = kind.scratch(context, 2 * HALF, undo);
    const key = createBuffer(context, CL_MEM_COPY_HOST_PTR, HALF, addressOf(this.#random, "opencl"), undo);
    this.#bindKey = bound(key);
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
    this.#ask();
    this.#submitAnswer(queue, []);
    this.#submitEarlyLate(queue, 0, 0, 1);
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
    const expected = this.#ask();
    return this.#sees(queue, expected, this.#submitAnswer(queue, []), patience);
  }

  #answersBehindGate(queue: OpenCLQueue, patience: number): boolean {
    using gate = new OpenCLUserEvent(this.#context);
    const point = this.#submitAnswer(queue, [gate.fence]);
    queue.flush();
    const expected = this.#ask();
    gate.complete();
    return this.#sees(queue, expected, point, patience);
  }

  /** The kernel writes a byte, works for a while, and writes the next: is there a time when one is seen and not the other? */
  #showsWhileRunning(queue: OpenCLQueue): boolean {
    let turns = TURNS.first;
    for (const end = performance.now() + LATEST_MS; performance.now() < end; turns = Math.min(2 * turns, TURNS.most)) {
      const [early, late] = crypto.getRandomValues(new Uint8Array(2));
      const { bytes } = this.#block;
      bytes[0] = ~early;
      bytes[1] = ~late;
      this.#submitEarlyLate(queue, early, late, turns);
      queue.flush();
      let sightings = 0;
      until(() => {
        if (Atomics.load(bytes, 0) !== early) return false;
        if (Atomics.load(bytes, 1) === late) return true;
        return ++sightings === SIGHTINGS;
      }, PATIENCE_MS[1]);
      queue.finish();
      if (sightings === SIGHTINGS) return true;
    }
    return false;
  }

  /** Fresh random bytes for the device to read, and every byte of the answer spoilt. Answers what it should become. */
  #ask(): Uint8Array {
    const question = crypto.getRandomValues(new Uint8Array(HALF));
    const answer = question.map((byte, i) => byte ^ this.#random[i]);
    this.#block.bytes.set(question);
    this.#block.bytes.set(answer.map((byte) => ~byte), HALF);
    return answer;
  }

  /** Polls memory, and nothing else, until the answer is there; asks the event only once patience has run out. */
  #sees(queue: OpenCLQueue, expected: Uint8Array, point: Point, patience: number): boolean {
    queue.flush();
    const end = performance.now() + LATEST_MS;
    const answer = this.#block.bytes.subarray(HALF, 2 * HALF);
    const there = () =>
      Atomics.load(answer, HALF - 1) === expected[HALF - 1] && expected.every((byte, i) => byte === answer[i]);
    do {
      if (until(there, patience)) return true;
    } while (!point.over() && performance.now() < end);
    return false;
  }

  #submitAnswer(queue: OpenCLQueue, waits: readonly Fence[]): Point {
    this.#block.bind(this.#answer.handle, 0);
    this.#bindKey(this.#answer.handle, 1);
    set(this.#answer, 2, new Uint32Array([HALF]));
    return this.#submit(queue, this.#answer, HALF, waits);
  }

  #submitEarlyLate(queue: OpenCLQueue, early: number, late: number, turns: number): Point {
    this.#block.bind(this.#earlyLate.handle, 0);
    set(this.#earlyLate, 1, new Uint8Array([early]));
    set(this.#earlyLate, 2, new Uint8Array([late]));
    set(this.#earlyLate, 3, new Uint32Array([turns]));
    return this.#submit(queue, this.#earlyLate, 1, []);
  }

  #submit(queue: OpenCLQueue, kernel: OpenCLKernel, items: number, waits: readonly Fence[]): Point {
    return queue.submit("clEnqueueNDRangeKernel", waits, (n, list, event) =>
      opencl().clEnqueueNDRangeKernel(
        queue.handle,
        kernel.handle,
        1,
        null,
        new BigUint64Array([BigInt(items)]),
        null,
        n,
        list,
        event,
      ));
  }
}

function set(kernel: OpenCLKernel, index: number, value: ArrayBufferView<ArrayBuffer>): void {
  check(opencl().clSetKernelArg(kernel.handle, index, BigInt(value.byteLength), value), "clSetKernelArg");
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
