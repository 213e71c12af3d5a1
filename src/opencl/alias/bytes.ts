import { CL_MEM_COPY_HOST_PTR } from "../../../ffi/opencl/constants.ts";
import type { Fence } from "../../core/device/fence.ts";
import { addressOf } from "../../core/native/pin.ts";
import type { Undo } from "../../core/life/undo.ts";
import { bound, type MemoryKind, type Scratch } from "./memory.ts";
import { type Specimen, STEPS, submit, value } from "./trial.ts";
import type { OpenCLContext } from "../context.ts";
import type { UserEvent } from "../queues/event.ts";
import type { OpenCLKernel } from "../kernel.ts";
import type { OpenCLQueue } from "../queue.ts";
import { createBuffer } from "../tensor.ts";

/** Bytes that the device reads, and as many that it writes. */
const HALF = 4096;

const SOURCE = `${STEPS}
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

/** A block of plain memory under test: its first half is read, its second half written. */
export class BytesSpecimen implements Specimen {
  readonly #answer: OpenCLKernel;
  readonly #earlyLate: OpenCLKernel;
  readonly #block: Scratch;
  readonly #random: Uint8Array<ArrayBuffer> = crypto.getRandomValues(new Uint8Array(HALF));
  readonly #bindKey: Scratch["bind"];

  constructor(context: OpenCLContext, kind: MemoryKind, undo: Undo) {
    const program = context.program(SOURCE);
    undo.push(() => program[Symbol.dispose]());
    this.#answer = program.kernel("answer");
    this.#earlyLate = program.kernel("early_late");
    this.#block = kind.scratch(context, 2 * HALF, undo);
    this.#bindKey = bound(createBuffer(context, CL_MEM_COPY_HOST_PTR, HALF, addressOf(this.#random, "opencl"), undo));
  }

  /** @see {@link Specimen.ask} */
  ask(): () => boolean {
    const question = crypto.getRandomValues(new Uint8Array(HALF));
    const expected = question.map((byte, i) => byte ^ this.#random[i]);
    this.#block.bytes.set(question);
    this.#block.bytes.set(expected.map((byte) => ~byte), HALF);
    const answer = this.#block.bytes.subarray(HALF, 2 * HALF);
    return () =>
      Atomics.load(answer, HALF - 1) === expected[HALF - 1] && expected.every((byte, i) => byte === answer[i]);
  }

  /** @see {@link Specimen.submitAnswer} */
  submitAnswer(queue: OpenCLQueue, behind?: UserEvent): Fence {
    const length = value(new Uint32Array([HALF]));
    return submit(queue, this.#answer, [HALF], [this.#block.bind, this.#bindKey, length], behind);
  }

  /** @see {@link Specimen.submitEarlyLate} */
  submitEarlyLate(queue: OpenCLQueue, turns: number): { early(): boolean; late(): boolean } {
    const [early, late] = crypto.getRandomValues(new Uint8Array(2));
    const { bytes, bind } = this.#block;
    bytes[0] = ~early;
    bytes[1] = ~late;
    const pair = [early, late].map((byte) => value(new Uint8Array([byte])));
    submit(queue, this.#earlyLate, [1], [bind, ...pair, value(new Uint32Array([turns]))]);
    return { early: () => Atomics.load(bytes, 0) === early, late: () => Atomics.load(bytes, 1) === late };
  }
}
