import { type Address, NULL } from "../../ffi/address.ts";
import { CL_MEM_ALLOC_HOST_PTR, CL_MEM_COPY_HOST_PTR, CL_MEM_USE_HOST_PTR } from "../../ffi/opencl/constants.ts";
import type { ClMem } from "../../ffi/opencl/handles.ts";
import type { Fence } from "../core/fence.ts";
import { addressOf } from "../core/pin.ts";
import type { Undo } from "../core/undo.ts";
import { type Specimen, STEPS, submit } from "./alias_trial.ts";
import type { OpenCLContext } from "./context.ts";
import type { Point } from "./event.ts";
import type { OpenCLKernel } from "./kernel.ts";
import type { OpenCLQueue } from "./queue.ts";
import { createBuffer } from "./tensor.ts";

/** What a driver may look at when it decides whether to use host memory in place. */
export interface AlignmentClass {
  /** The largest power of two, up to 4096, that divides the address. */
  readonly address: number;
  /** 64 where the length is a multiple of 64 bytes, else 1. */
  readonly length: 64 | 1;
}

/** The class of memory that the driver itself allocated. */
export const DRIVER_MEMORY = "driver";

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

/** A buffer under test: its first half is read, its second half written. */
export class BufferSpecimen implements Specimen {
  readonly #answer: OpenCLKernel;
  readonly #earlyLate: OpenCLKernel;
  readonly #block: Block;
  readonly #random: Uint8Array<ArrayBuffer> = crypto.getRandomValues(new Uint8Array(HALF));
  readonly #key: ClMem;

  constructor(context: OpenCLContext, which: AlignmentClass | typeof DRIVER_MEMORY, undo: Undo) {
    const program = context.program(SOURCE);
    undo.push(() => program[Symbol.dispose]());
    this.#answer = program.kernel("answer");
    this.#earlyLate = program.kernel("early_late");
    this.#block = which === DRIVER_MEMORY ? driverBlock(context, undo) : hostBlock(context, which, undo);
    this.#key = createBuffer(context, CL_MEM_COPY_HOST_PTR, HALF, addressOf(this.#random, "opencl"), undo);
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
  submitAnswer(queue: OpenCLQueue, waits: readonly Fence[]): Point {
    const args = [new BigUint64Array([this.#block.mem]), new BigUint64Array([this.#key]), new Uint32Array([HALF])];
    return submit(queue, this.#answer, [HALF], args, waits);
  }

  /** @see {@link Specimen.submitEarlyLate} */
  submitEarlyLate(queue: OpenCLQueue, turns: number): { early(): boolean; late(): boolean } {
    const [early, late] = crypto.getRandomValues(new Uint8Array(2));
    const { bytes, mem } = this.#block;
    bytes[0] = ~early;
    bytes[1] = ~late;
    submit(queue, this.#earlyLate, [1], [
      new BigUint64Array([mem]),
      new Uint8Array([early]),
      new Uint8Array([late]),
      new Uint32Array([turns]),
    ]);
    return { early: () => Atomics.load(bytes, 0) === early, late: () => Atomics.load(bytes, 1) === late };
  }
}

/** Memory under test: the CPU's look at it, and the device's. */
interface Block {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mem: ClMem;
}

/** The first byte behind `base` whose address is a multiple of `divisor` and of no larger power of two. */
export function beginIn(base: bigint, divisor: number): number {
  const step = BigInt(2 * divisor);
  return Number(((BigInt(divisor) - base % step) + step) % step);
}

/** Host memory of exactly this class: of a JavaScript buffer, which stays where it is. */
function hostBlock(context: OpenCLContext, which: AlignmentClass, undo: Undo): Block {
  const length = 2 * HALF + (which.length === 64 ? 0 : 1);
  const room = new Uint8Array(length + 2 * 4096);
  const base = addressOf(room, "opencl");
  const begin = beginIn(base, which.address);
  const address = base + BigInt(begin);
  const bytes = room.subarray(begin, begin + length);
  undo.push(() => void room.fill(0)); // holds the buffer until the last cl_mem over it is gone
  return { bytes, mem: createBuffer(context, CL_MEM_USE_HOST_PTR, length, address as Address, undo) };
}

/** Memory of the driver's own, mapped. It stays mapped while the device writes: else its address would be stale. */
function driverBlock(context: OpenCLContext, undo: Undo): Block {
  const mem = createBuffer(context, CL_MEM_ALLOC_HOST_PTR, 2 * HALF, NULL, undo);
  const range = context.memory.map(mem, "read-write", 0, 2 * HALF);
  undo.push(() => {
    using unmapped = range.unmap([]);
    unmapped.waitSync();
  });
  const pointer = Deno.UnsafePointer.create(range.address)!;
  return { bytes: new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(pointer, 2 * HALF) as ArrayBuffer), mem };
}
