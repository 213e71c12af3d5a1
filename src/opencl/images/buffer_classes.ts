import { NULL } from "../../../ffi/address.ts";
import { CL_MEM_ALLOC_HOST_PTR, CL_MEM_USE_HOST_PTR } from "../../../ffi/opencl/constants.ts";
import { CL_INVALID_OPERATION } from "../../../ffi/opencl/errors.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import { type MemoryClass, verdictOf } from "../../core/device/proofs.ts";
import { NativeCallError } from "../../core/errors.ts";
import type { Undo } from "../../core/life/undo.ts";
import { addressOf } from "../../core/native/pin.ts";
import { bound, look, programFor, queuesFor, submit, value } from "../alias/kernels.ts";
import { hostBytes } from "../alias/memory.ts";
import type { BaseContext, BaseQueue } from "../base_context.ts";
import { createBuffer } from "../buffers/native.ts";
import { named } from "./classes.ts";
import type { PixelFormat } from "./format.ts";
import { createImage } from "./native.ts";
import type { ImageShape } from "./shape.ts";
import { randomPixels } from "./specimen.ts";
import { definitionsOf, type ImageType } from "./type.ts";

/** Pixels of a row: more than any device's pitch alignment. */
const WIDTH = 256;

/** The coordinates of the pixel depend on the bytes just written, so no compiler reads it earlier. */
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

/**
 * The class of images over a buffer; `host` is true for a buffer in host memory.
 *
 * OpenCL requires that both are the same memory. It is proven all the same: one run of a kernel writes random bytes to a
 * buffer, reads them as pixels of the image over it, writes them as pixels of another image, and reads them as bytes of
 * the buffer under that. No driver can copy in between.
 */
export function bufferImageClass(type: ImageType, format: PixelFormat, host: boolean): MemoryClass<BaseContext> {
  const name = `${type} ${format.name} over a buffer ${host ? "over host memory" : "of the driver's own"}`;
  return named(name, (context, undo) => {
    let passes: () => boolean;
    try {
      passes = passage(context, type, format, host, undo);
    } catch (error) {
      // rusticl 22.3 has no images over buffers over host memory.
      if (!(error instanceof NativeCallError && error.code === CL_INVALID_OPERATION)) throw error;
      return { aliases: false, evidence: `the driver makes no ${name} (${error.codeName}).`, impossible: true };
    }
    // Twice: a cache of the first run would be stale in the second.
    const same = passes() && passes();
    const missed = "in one run of a kernel the image and the buffer were not seen to be the same memory";
    return verdictOf(same ? undefined : missed, name);
  });
}

/** Two buffers with an image over each. The returned function checks random bytes on every device. */
function passage(
  context: BaseContext,
  type: ImageType,
  format: PixelFormat,
  host: boolean,
  undo: Undo,
): () => boolean {
  const row = WIDTH * format.bytesPerPixel;
  const rows = type === "2D" ? 4 : 1;
  const byteLength = row * rows;
  const image: ImageShape = { type, extent: [WIDTH, rows, 1], pitch: { row, slice: byteLength } };
  const below = [0, 1].map(() => host ? overHost(context, byteLength, undo) : ofDriver(context, byteLength, undo));
  const [question, answer] = [0, 1].map(() => ofDriver(context, byteLength, undo));
  const images = below.map((buffer) => createImage(context, format, image, { flags: 0n, address: NULL, buffer }, undo));
  const kernel = programFor(context, definitionsOf(type, format) + KERNEL, undo).kernel("through");
  const size = value(new Uint32Array([format.bytesPerPixel]));
  const args = [...[...images, ...below, question, answer].map(bound), size];
  const items = type === "2D" ? [WIDTH, rows] : [WIDTH];
  const queues = queuesFor(context, undo);
  const passesOn = (queue: BaseQueue) => {
    const asked = randomPixels(byteLength, format);
    look(context, question, "write", byteLength, (bytes) => bytes.set(asked));
    submit(queue, kernel, items, args);
    queue.finish();
    return look(context, answer, "read", byteLength, (bytes) => asked.every((byte, i) => byte === bytes[i]));
  };
  return () => queues.every(passesOn);
}

function ofDriver(context: BaseContext, byteLength: number, undo: Undo): ClMem {
  return createBuffer(context, CL_MEM_ALLOC_HOST_PTR, byteLength, NULL, undo);
}

function overHost(context: BaseContext, byteLength: number, undo: Undo): ClMem {
  const address = addressOf(hostBytes(4096, byteLength, undo), "opencl");
  return createBuffer(context, CL_MEM_USE_HOST_PTR, byteLength, address, undo);
}
