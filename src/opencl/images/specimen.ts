import { type Address, NULL } from "../../../ffi/address.ts";
import { CL_MEM_ALLOC_HOST_PTR, CL_MEM_USE_HOST_PTR } from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import { sizeOf } from "../../core/layout/dtype.ts";
import type { Fence } from "../../core/device/fence.ts";
import { addressOf } from "../../core/native/pin.ts";
import type { Undo } from "../../core/life/undo.ts";
import { bound, bytesAt, hostBytes } from "../alias/memory.ts";
import { type Bind, type Specimen, STEPS, submit, value } from "../alias/trial.ts";
import type { OpenCLContext } from "../context.ts";
import type { UserEvent } from "../queues/event.ts";
import type { ImageClass } from "./alias.ts";
import type { PixelFormat } from "./format.ts";
import { createImage } from "./native.ts";
import { footprintOf, type ImageShape } from "./shape.ts";
import { definitionsOf, IMAGE_TYPES } from "./type.ts";
import type { OpenCLKernel } from "../kernel.ts";
import type { OpenCLQueue } from "../queue.ts";

/** The answer is the question, turned by half a turn. */
const KERNELS = `${STEPS}
#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable
kernel void answer(read_only IMAGE from, write_only IMAGE to) {
  int x = get_global_size(0) - 1 - get_global_id(0);
  int y = get_global_size(1) - 1 - get_global_id(1);
  int z = get_global_size(2) - 1 - get_global_id(2);
  PIXEL pixel = READ(from, AT);
  x = get_global_id(0); y = get_global_id(1); z = get_global_id(2);
  WRITE(to, AT, pixel);
}
kernel void early_late(read_only IMAGE from, write_only IMAGE to, uint turns) {
  int x = 0, y = 0, z = 0;
  PIXEL early = READ(from, AT);
  WRITE(to, AT, early);
  uint n = turns;
  for (uint i = 0; i < turns; i++) { uint x = n; STEPS n = x; }
  x = n == 0u ? 2 : 1;
  PIXEL late = READ(from, AT);
  WRITE(to, AT, late);
}`;

/** Bytes of a row at least. */
const LEAST_ROW = 256;

/** Two images under test, in memory of one class: the device reads one, and writes the other. */
export class ImageSpecimen implements Specimen {
  /** What tells without an experiment that such memory is not used in place. */
  readonly problem: string | undefined;
  readonly #format: PixelFormat;
  readonly #from: Picture;
  readonly #to: Picture;
  readonly #answer: OpenCLKernel;
  readonly #earlyLate: OpenCLKernel;

  constructor(context: OpenCLContext, which: ImageClass, undo: Undo) {
    this.#format = which.format;
    [this.#from, this.#to] = which.host === undefined
      ? driverPictures(context, which, undo)
      : hostPictures(context, which, undo);
    this.problem = this.#to.problem;
    const program = context.program(definitionsOf(which.type, which.format) + KERNELS);
    undo.push(() => program[Symbol.dispose]());
    this.#answer = program.kernel("answer");
    this.#earlyLate = program.kernel("early_late");
  }

  /** @see {@link Specimen.ask} */
  ask(): () => boolean {
    const { rows } = this.#from;
    const questions = rows.map((row) => randomPixels(row.length, this.#format));
    rows.forEach((row, i) => row.set(questions[i]));
    const expected = questions.map((row) => turned(row, this.#format.bytesPerPixel)).reverse();
    this.#to.rows.forEach((row, i) => row.set(expected[i].map((byte) => ~byte)));
    const last = this.#to.rows[rows.length - 1];
    const lastExpected = expected[rows.length - 1];
    return () =>
      Atomics.load(last, last.length - 1) === lastExpected[last.length - 1] &&
      this.#to.rows.every((row, i) => expected[i].every((byte, at) => byte === row[at]));
  }

  /** @see {@link Specimen.submitAnswer} */
  submitAnswer(queue: OpenCLQueue, behind?: UserEvent): Fence {
    const extent = this.#to.image.extent.slice(0, IMAGE_TYPES[this.#to.image.type].rank);
    return submit(queue, this.#answer, extent, this.#images(), behind);
  }

  /** @see {@link Specimen.submitEarlyLate} */
  submitEarlyLate(queue: OpenCLQueue, turns: number): { early(): boolean; late(): boolean } {
    const size = this.#format.bytesPerPixel;
    const pixels = randomPixels(2 * size, this.#format);
    const [row] = this.#to.rows;
    this.#from.rows[0].set(pixels);
    row.set(pixels.map((byte) => ~byte));
    submit(queue, this.#earlyLate, [1], [...this.#images(), value(new Uint32Array([turns]))]);
    return {
      early: () => Atomics.load(row, 0) === pixels[0],
      late: () => Atomics.load(row, size) === pixels[size],
    };
  }

  #images(): Bind[] {
    return [this.#from, this.#to].map(({ mem }) => bound(mem));
  }
}

/** An image under test: the CPU's look at the pixels of each of its rows, and the device's. */
interface Picture {
  readonly mem: ClMem;
  readonly image: ImageShape;
  readonly rows: readonly Uint8Array<ArrayBuffer>[];
  readonly problem?: string;
}

/** Random bytes that come through a kernel's registers as they are, whatever the channels: no NaN, no second -1. */
export function randomPixels(byteLength: number, { dtype }: PixelFormat): Uint8Array<ArrayBuffer> {
  const size = sizeOf(dtype);
  const bytes = crypto.getRandomValues(new Uint8Array(byteLength));
  for (let i = size - 1; i < byteLength; i += size) bytes[i] = 0x30 | bytes[i] & 0x0f;
  return bytes;
}

function turned(row: Uint8Array, size: number): Uint8Array {
  return row.map((_, i) => row[row.length - size - i + 2 * (i % size)]);
}

/** An image of the class: its pitch is the class's divisor, an odd number of times. */
function shapeFor({ type, format, host }: ImageClass): ImageShape {
  const { divisor, padded } = host?.row ?? { divisor: 64, padded: false };
  let row = divisor;
  while (row < LEAST_ROW) row += 2 * divisor;
  const { rank } = IMAGE_TYPES[type];
  const [y, z] = [rank > 1 ? 4 : 1, rank > 2 ? 3 : 1];
  return {
    type,
    extent: [row / format.bytesPerPixel - Number(padded), y, z],
    pitch: { row, slice: row * (y + Number(host?.paddedSlices ?? false)) },
  };
}

/** Two images over host memory of exactly this class. */
function hostPictures(context: OpenCLContext, which: ImageClass, undo: Undo): [Picture, Picture] {
  const image = shapeFor(which);
  const picture = (): Picture => {
    const bytes = hostBytes(which.host!.address, footprintOf(image), undo);
    const address = addressOf(bytes, "opencl");
    const mem = createImage(context, which.format, image, { flags: CL_MEM_USE_HOST_PTR, address }, undo);
    const problem = mapProblem(context, mem, image, address);
    return { mem, image, rows: rowsOf(bytes, image, which.format), ...(problem === undefined ? {} : { problem }) };
  };
  return [picture(), picture()];
}

/** By OpenCL's own rule a map of such an image lies in the memory that it was made over. */
function mapProblem(context: OpenCLContext, mem: ClMem, image: ImageShape, address: Address): string | undefined {
  const mapped = context.images.map(mem, image, "read");
  mapped.range.end();
  const inPlace = mapped.range.address === address && mapped.pitch.row === image.pitch.row &&
    mapped.pitch.slice === image.pitch.slice;
  return inPlace ? undefined : "the driver maps it elsewhere than in the memory it was given";
}

/** Two images of the driver's own, mapped. They stay mapped while the device writes: else their address would be stale. */
function driverPictures(context: OpenCLContext, which: ImageClass, undo: Undo): [Picture, Picture] {
  const picture = (): Picture => {
    const tight = shapeFor(which);
    const memory = { flags: CL_MEM_ALLOC_HOST_PTR, address: NULL };
    const mem = createImage(context, which.format, tight, memory, undo);
    const mapped = context.images.map(mem, tight, "read-write");
    undo.push(() => mapped.range.end());
    const image = { ...tight, pitch: mapped.pitch };
    const bytes = bytesAt(mapped.range.address, spanOf(image, which.format));
    return { mem, image, rows: rowsOf(bytes, image, which.format) };
  };
  return [picture(), picture()];
}

/** From the first byte of an image to the last of its pixels. */
function spanOf({ extent: [x, y, z], pitch }: ImageShape, { bytesPerPixel }: PixelFormat): number {
  return (z - 1) * pitch.slice + (y - 1) * pitch.row + x * bytesPerPixel;
}

function rowsOf(bytes: Uint8Array<ArrayBuffer>, image: ImageShape, format: PixelFormat): Uint8Array<ArrayBuffer>[] {
  const [x, y, z] = image.extent;
  return Array.from({ length: y * z }, (_, i) => {
    const begin = Math.floor(i / y) * image.pitch.slice + (i % y) * image.pitch.row;
    return bytes.subarray(begin, begin + x * format.bytesPerPixel);
  });
}
