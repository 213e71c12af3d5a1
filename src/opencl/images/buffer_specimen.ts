import { NULL } from "../../../ffi/address.ts";
import { CL_MEM_ALLOC_HOST_PTR, CL_MEM_USE_HOST_PTR } from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import { addressOf } from "../../core/native/pin.ts";
import type { Undo } from "../../core/life/undo.ts";
import { bound, bytesAt, hostBytes } from "../alias/memory.ts";
import { submit, value } from "../alias/trial.ts";
import type { OpenCLContext } from "../context.ts";
import type { PixelFormat } from "./format.ts";
import { createImage } from "./native.ts";
import type { ImageShape } from "./shape.ts";
import { randomPixels } from "./specimen.ts";
import type { BufferImageClass } from "./over_buffer.ts";
import { definitionsOf } from "./type.ts";
import type { OpenCLKernel } from "../kernel.ts";
import type { OpenCLQueue } from "../queue.ts";
import { createBuffer } from "../tensor.ts";

/** Pixels of a row: more than any device's pitch alignment. */
const WIDTH = 256;

/** Where a pixel is read hangs on the bytes that were just written, so that no compiler reads it before. */
const KERNEL = `
kernel void through(
  read_only IMAGE from, write_only IMAGE to, global volatile uchar* fromBytes, global volatile uchar* toBytes,
  global const uchar* question, global uchar* answer, uint size
) {
  int x = get_global_id(0), y = get_global_id(1), z = 0;
  size_t at = (x + y * get_global_size(0)) * size;
  for (uint i = 0; i < size; i++) fromBytes[at + i] = question[at + i];
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  x += fromBytes[at] ^ question[at];
  WRITE(to, AT, READ(from, AT));
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  for (uint i = 0; i < size; i++) answer[at + i] = toBytes[at + i];
}`;

/** Two buffers with an image over each, and the kernel that has bytes go through all of them. */
export class BufferImageSpecimen {
  readonly #context: OpenCLContext;
  readonly #format: PixelFormat;
  readonly #image: ImageShape;
  readonly #byteLength: number;
  readonly #queues: readonly OpenCLQueue[];
  readonly #kernel: OpenCLKernel;
  /** As the kernel takes them: two images, their buffers, the question, the answer. */
  readonly #mems: readonly ClMem[];

  constructor(context: OpenCLContext, { type, format, host }: BufferImageClass, undo: Undo) {
    this.#context = context;
    this.#format = format;
    const row = WIDTH * format.bytesPerPixel;
    const rows = type === "2D" ? 4 : 1;
    this.#byteLength = row * rows;
    this.#image = { type, extent: [WIDTH, rows, 1], pitch: { row, slice: this.#byteLength } };
    const buffers = Array.from(
      { length: 4 },
      (_, i) => host && i < 2 ? overHost(context, this.#byteLength, undo) : ofItsOwn(context, this.#byteLength, undo),
    );
    const images = buffers.slice(0, 2).map((buffer) =>
      createImage(context, format, this.#image, { flags: 0n, address: NULL, buffer }, undo)
    );
    this.#mems = [...images, ...buffers];
    const program = context.program(definitionsOf(type, format) + KERNEL);
    undo.push(() => program[Symbol.dispose]());
    this.#kernel = program.kernel("through");
    this.#queues = context.devices.map((device) => {
      const queue = context.createQueue({ device });
      undo.push(() => queue[Symbol.dispose]());
      return queue;
    });
  }

  /** Do random bytes come through, on every device? */
  passes(): boolean {
    return this.#queues.every((queue) => this.#passesOn(queue));
  }

  #passesOn(queue: OpenCLQueue): boolean {
    const question = randomPixels(this.#byteLength, this.#format);
    this.#look(4, "write", (bytes) => bytes.set(question));
    const size = value(new Uint32Array([this.#format.bytesPerPixel]));
    const items = this.#image.extent.slice(0, this.#image.type === "2D" ? 2 : 1);
    submit(queue, this.#kernel, items, [...this.#mems.map(bound), size]);
    queue.finish();
    return this.#look(5, "read", (bytes) => question.every((byte, i) => byte === bytes[i]));
  }

  /** Maps one of the buffers, and has a look at its bytes. */
  #look<R>(index: number, access: "read" | "write", use: (bytes: Uint8Array<ArrayBuffer>) => R): R {
    const range = this.#context.memory.map(this.#mems[index], access, 0, this.#byteLength);
    try {
      return use(bytesAt(range.address, this.#byteLength));
    } finally {
      range.end();
    }
  }
}

function ofItsOwn(context: OpenCLContext, byteLength: number, undo: Undo): ClMem {
  return createBuffer(context, CL_MEM_ALLOC_HOST_PTR, byteLength, NULL, undo);
}

function overHost(context: OpenCLContext, byteLength: number, undo: Undo): ClMem {
  const address = addressOf(hostBytes(4096, byteLength, undo), "opencl");
  return createBuffer(context, CL_MEM_USE_HOST_PTR, byteLength, address, undo);
}
