import { type Address, NULL } from "../../../ffi/address.ts";
import { CL_MEM_ALLOC_HOST_PTR, CL_MEM_USE_HOST_PTR } from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import { sizeOf } from "../../core/layout/dtype.ts";
import type { Undo } from "../../core/life/undo.ts";
import { addressOf, bytesAt } from "../../core/native/pin.ts";
import { bound } from "../alias/kernels.ts";
import { hostBytes } from "../alias/memory.ts";
import type { Sample, Specimen } from "../alias/trial.ts";
import type { BaseContext } from "../base_context.ts";
import { mapFlags } from "../buffers/native.ts";
import type { ImageTraits } from "./classes.ts";
import type { PixelFormat } from "./format.ts";
import { mapImage } from "./map.ts";
import { createImage } from "./native.ts";
import { footprintOf, type ImageShape } from "./shape.ts";
import { definitionsOf, IMAGE_TYPES } from "./type.ts";

const PARAMETERS = `
#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable
#define FROM read_only IMAGE
#define TO write_only IMAGE
`;

const MIN_ROW = 256;

/** Two images in memory of one class: the device reads one, and writes the other. A string says why not. */
export function imageSpecimen(context: BaseContext, traits: ImageTraits, undo: Undo): Specimen | string {
  const { type, format, host } = traits;
  const tight = shapeFor(traits, context.images.abilities.limits.extents[type][0]);
  const make = () =>
    host === undefined ? inDriver(context, format, tight, undo) : inHost(context, format, tight, host.address, undo);
  const [from, to] = [make(), make()];
  if (typeof from === "string") return from;
  if (typeof to === "string") return to;
  return {
    definitions: definitionsOf(type, format) + PARAMETERS,
    from,
    to,
    extent: tight.extent.slice(0, IMAGE_TYPES[type].rank),
    pixel: format.bytesPerPixel,
    random: (byteLength) => randomPixels(byteLength, format),
  };
}

/** Random bytes that come through a kernel's registers as they are, whatever the channels: no NaN, no second -1. */
export function randomPixels(byteLength: number, { dtype }: PixelFormat): Uint8Array<ArrayBuffer> {
  const size = sizeOf(dtype);
  const bytes = crypto.getRandomValues(new Uint8Array(byteLength));
  for (let i = size - 1; i < byteLength; i += size) bytes[i] = 0x30 | bytes[i] & 0x0f;
  return bytes;
}

/** An image of the class: its pitch is the class's divisor, an odd number of times. `most`: the most pixels of a row. */
function shapeFor({ type, format, host }: ImageTraits, most: number): ImageShape {
  const { divisor, padded } = host?.row ?? { divisor: 64, padded: false };
  let row = divisor;
  while (row < MIN_ROW) row += 2 * divisor;
  const { rank } = IMAGE_TYPES[type];
  const [y, z] = [rank > 1 ? 4 : 1, rank > 2 ? 3 : 1];
  return {
    type,
    extent: [Math.min(row / format.bytesPerPixel - Number(padded), most), y, z],
    pitch: { row, slice: row * (y + Number(host?.paddedSlices ?? false)) },
  };
}

function inHost(
  context: BaseContext,
  format: PixelFormat,
  image: ImageShape,
  align: number,
  undo: Undo,
): Sample | string {
  const bytes = hostBytes(align, footprintOf(image), undo);
  const address = addressOf(bytes, "opencl");
  const mem = createImage(context, format, image, { flags: CL_MEM_USE_HOST_PTR, address }, undo);
  if (!mapsInPlace(context, mem, image, address)) return "the driver maps it elsewhere than in the memory it was given";
  return { bind: bound(mem), rows: rowsOf(bytes, image, format) };
}

/** OpenCL requires a map of such an image to lie in the memory that it was made over. */
function mapsInPlace(context: BaseContext, mem: ClMem, image: ImageShape, address: Address): boolean {
  const { range, pitch } = mapImage(context.queue.line, mem, image, mapFlags("read", true));
  range.end();
  return range.address === address && pitch.row === image.pitch.row && pitch.slice === image.pitch.slice;
}

/** An image of the driver's own, mapped. It stays mapped while the device writes: else its address would be stale. */
function inDriver(context: BaseContext, format: PixelFormat, tight: ImageShape, undo: Undo): Sample {
  const mem = createImage(context, format, tight, { flags: CL_MEM_ALLOC_HOST_PTR, address: NULL }, undo);
  const { range, pitch } = mapImage(context.queue.line, mem, tight, mapFlags("read-write", true));
  undo.push(() => range.end());
  const image = { ...tight, pitch };
  const bytes = bytesAt(range.address, spanOf(image, format), "opencl", undo);
  return { bind: bound(mem), rows: rowsOf(bytes, image, format) };
}

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
