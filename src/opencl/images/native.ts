import { type Address, NULL } from "../../../ffi/address.ts";
import { CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_WRITE } from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import { cl_image_desc, cl_image_format, writeClImageDesc, writeClImageFormat } from "../../../ffi/opencl/structs.ts";
import type { Undo } from "../../core/life/undo.ts";
import type { BaseContext } from "../base_context.ts";
import { errcode, made } from "../errors.ts";
import type { PixelFormat } from "./format.ts";
import type { Extent, ImageShape, Pitches } from "./shape.ts";
import { IMAGE_TYPES, type ImageType } from "./type.ts";
import { opencl } from "../library.ts";
import { own } from "../buffers/native.ts";
import type { RootBuffer } from "../buffers/tensor.ts";

export interface ImageMemory {
  readonly flags: bigint;
  readonly address: Address;
  readonly buffer?: ClMem;
}

export const ORIGIN: BigUint64Array<ArrayBuffer> = new BigUint64Array(3);

const HAS_HEIGHT: readonly ImageType[] = ["2D", "2D array", "3D"];

export function regionOf(extent: Extent): BigUint64Array<ArrayBuffer> {
  return BigUint64Array.from(extent, BigInt);
}

/** The pitches for OpenCL, where a layer of a 1D array is a slice. */
export function nativePitches({ type, pitch }: ImageShape): readonly [row: bigint, slice: bigint] {
  const { rank } = IMAGE_TYPES[type];
  if (rank === 1) return [0n, 0n];
  const slice = rank === 3 ? pitch.slice : type === "1D array" ? pitch.row : 0;
  return [BigInt(pitch.row), BigInt(slice)];
}

export interface NativeImage {
  readonly pixels: DataView<ArrayBuffer>;
  readonly desc: DataView<ArrayBuffer>;
}

/** Describes an image. `pitches`: of memory that is given, and is not a driver's own. */
export function describeImage(
  format: PixelFormat,
  image: ImageShape,
  pitches: readonly [row: bigint, slice: bigint] = [0n, 0n],
  buffer = 0n as ClMem,
): NativeImage {
  const pixels = new DataView(new ArrayBuffer(cl_image_format.size));
  writeClImageFormat(pixels, 0, {
    image_channel_order: format.orderCode,
    image_channel_data_type: format.typeCode,
  });
  const [x, y, z] = image.extent.map(BigInt);
  const desc = new DataView(new ArrayBuffer(cl_image_desc.size));
  writeClImageDesc(desc, 0, {
    image_type: IMAGE_TYPES[image.type].code,
    image_width: x,
    image_height: HAS_HEIGHT.includes(image.type) ? y : 0n,
    image_depth: image.type === "3D" ? z : 0n,
    image_array_size: image.type === "1D array" ? y : image.type === "2D array" ? z : 0n,
    image_row_pitch: pitches[0],
    image_slice_pitch: pitches[1],
    num_mip_levels: 0,
    num_samples: 0,
    buffer,
  });
  return { pixels, desc };
}

/** A new image, whose release goes on the undo list. Kernels can read and write it; the grants limit access. */
export function createImage(
  context: BaseContext,
  format: PixelFormat,
  image: ImageShape,
  memory: ImageMemory,
  undo: Undo,
): ClMem {
  const given = memory.address !== NULL || memory.buffer !== undefined;
  const { pixels, desc } = describeImage(format, image, given ? nativePitches(image) : undefined, memory.buffer);
  // An image over a buffer has the buffer's flags.
  const flags = memory.buffer === undefined ? memory.flags | CL_MEM_READ_WRITE : memory.flags;
  const mem = opencl().clCreateImage!(context.rawHandle, flags, pixels, desc, memory.address, errcode);
  return own(made(mem, "clCreateImage"), undo);
}

/** A new image in the driver's own memory; its release goes on the undo list, unless a view of it was kept. */
export function ownImage(context: BaseContext, format: PixelFormat, image: ImageShape, undo: Undo): RootBuffer {
  const made: Undo = [];
  const mem = createImage(context, format, image, { flags: CL_MEM_ALLOC_HOST_PTR, address: NULL }, made);
  const root: RootBuffer = { mem, hostAddress: undefined, hostWriters: 0 };
  undo.push(() => root.kept ? undefined : made[0]());
  return root;
}

/** rusticl 22.3 does not set the row pitch of a single row; the layers of a 1D array come as slices. */
export function pitchesOf({ type, extent: [, y, z], pitch }: ImageShape, row: number, slice: number): Pitches {
  if (type === "1D array") return { row: slice, slice: slice * y };
  const rows = y > 1 ? row : pitch.row;
  return { row: rows, slice: z > 1 ? slice : rows * y };
}
