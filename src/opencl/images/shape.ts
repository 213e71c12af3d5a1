import { sizeOf } from "../../core/layout/dtype.ts";
import type { LayoutError } from "../../core/errors.ts";
import { type Layout, layout } from "../../core/layout/layout.ts";
import type { OpenCLDevice } from "../device.ts";
import type { PixelFormat } from "./format.ts";
import { BY_RANK, IMAGE_TYPES, type ImageType } from "./type.ts";
import { checks } from "../check.ts";

/** Pixels along x, y and z, as OpenCL counts a region; the layers of an array are its last dimension. */
export type Extent = readonly [x: number, y: number, z: number];

/** Bytes from one row of pixels to the next, and from one slice to the next. A layer of a 1D array is a row. */
export interface Pitches {
  /** From row to row. */
  readonly row: number;
  /** From slice to slice. */
  readonly slice: number;
}

/** The size of an image, and its pitches in memory. */
export interface ImageShape {
  /** The kind of image. */
  readonly type: ImageType;
  /** The number of pixels. */
  readonly extent: Extent;
  /** The pitches. */
  readonly pitch: Pitches;
}

/** Why memory cannot be an image. */
export interface ImageProblem {
  /** The argument at fault. */
  readonly argument: string;
  /** The problem, as a sentence. */
  readonly problem: string;
  /** The hint. */
  readonly remedy?: string;
}

export function isProblem(found: object): found is ImageProblem {
  return "problem" in found;
}

export function problemError(about: string, { argument, problem, remedy }: ImageProblem): LayoutError {
  return checks.unfit(argument, `${about}: ${problem}`, remedy, "clCreateImage");
}

/**
 * A layout as the pixels of an image: `[x]`, `[y, x]` or `[z, y, x]`, and a last dimension for the channels. If a pixel is
 * one element, the channels' dimension may be left out; a last dimension of 1 counts as the channels.
 * @param asked the kind of image; by default the number of dimensions decides
 */
export function shapeOf(at: Layout, format: PixelFormat, asked: ImageType | undefined): ImageShape | ImageProblem {
  const { dtype } = at;
  if (dtype !== format.dtype) {
    return bad("dtype", `its elements are ${dtype}; those of ${format.name} are ${format.dtype}.`);
  }
  const channels = hasChannels(at, format, asked);
  const wrong = channels ? channelProblem(at, format) : undefined;
  if (wrong !== undefined) return wrong;
  const rank = at.shape.length - Number(channels);
  const type = asked ?? BY_RANK[rank];
  if (type === undefined || IMAGE_TYPES[type].rank !== rank) {
    return bad("shape", `[${at.shape.join(",")}] has ${rank} dimensions of pixels; ${dimensionsOf(type)}.`);
  }
  const [x, y = 1, z = 1] = at.shape.slice(0, rank).reverse();
  const [pixel, row, slice] = at.strides.slice(0, rank).reverse();
  const width = x * format.bytesPerPixel;
  const pitch = { row: y > 1 ? row : width, slice: 0 };
  pitch.slice = z > 1 ? slice : pitch.row * y;
  if (x > 1 && pixel !== format.bytesPerPixel) {
    return bad(
      "strides",
      `its pixels lie ${pixel} bytes apart, those of ${format.name} have to be ${format.bytesPerPixel}.`,
    );
  }
  if (pitch.row < width) return bad("strides", `its rows lie ${pitch.row} bytes apart, and are ${width} long.`);
  if (pitch.slice < pitch.row * y) {
    return bad("strides", `its slices lie ${pitch.slice} bytes apart, and are ${pitch.row * y} long.`);
  }
  return { type, extent: [x, y, z], pitch };
}

/** The number of bytes of an image that OpenCL may touch, with the padding behind its last row. */
export function footprintOf({ extent: [, y, z], pitch }: ImageShape): number {
  return z > 1 ? pitch.slice * z : pitch.row * y;
}

/** Why pitches do not fit an image over host memory (clCreateImage, "Image Descriptor"), if they do not. */
export function pitchProblem({ extent: [, y, z], pitch }: ImageShape, format: PixelFormat): ImageProblem | undefined {
  const remedy = `Allocate it with rowAlign: ${format.bytesPerPixel}, or a multiple of that.`;
  if (y > 1 && pitch.row % format.bytesPerPixel !== 0) {
    return bad(
      "strides",
      `its rows lie ${pitch.row} bytes apart, no multiple of a pixel's ${format.bytesPerPixel}.`,
      remedy,
    );
  }
  if (z > 1 && pitch.slice % pitch.row !== 0) {
    return bad("strides", `its slices lie ${pitch.slice} bytes apart, no multiple of its rows' ${pitch.row}.`);
  }
  return undefined;
}

/**
 * Why an address is not aligned for an image, if it is not. Kernels access whole pixels, with vector instructions on a
 * CPU: PoCL and Intel's CPU driver crash on memory that is not aligned to a pixel's size (OpenCL 3.0, "Alignment of
 * Application Data Types").
 * @param align the alignment in bytes: a pixel's size, or more if the device requires it
 */
export function addressProblem(address: bigint | undefined, align: number): ImageProblem | undefined {
  if (address === undefined || address % BigInt(align) === 0n) return undefined;
  return bad(
    "byteOffset",
    `it begins at 0x${address.toString(16)}, no multiple of ${align} bytes.`,
    `Allocate it with align: ${align}.`,
  );
}

/** The place of an image in host memory. */
export interface HostPlace {
  /** The address of the first pixel, if it is known. */
  readonly address: bigint | undefined;
  /** The bytes from the first pixel to the end of the last. */
  readonly byteLength: number;
  /** The block of memory around it. */
  readonly block: { readonly address?: bigint; readonly byteLength: number };
}

/** Why memory is too short, if it is: to OpenCL the padding behind the last row is part of the image. */
export function tailProblem(image: ImageShape, { address, byteLength, block }: HostPlace): ImageProblem | undefined {
  const footprint = footprintOf(image);
  if (footprint <= byteLength) return undefined;
  const known = address !== undefined && block.address !== undefined;
  if (known && address + BigInt(footprint) <= block.address! + BigInt(block.byteLength)) return undefined;
  const problem =
    `an image of these pitches takes ${footprint} bytes, the padding behind its last row included, and the ` +
    `memory is not ${known ? "" : "known to be "}as long.`;
  return bad("strides", problem, "Allocate a row more, and map a slice.");
}

export function pitched(at: Layout, format: PixelFormat, type: ImageType, pitch: Pitches): Layout {
  const { rank } = IMAGE_TYPES[type];
  const pixels = [format.bytesPerPixel, pitch.row, pitch.slice].slice(0, rank).reverse();
  const strides = at.shape.length === rank ? pixels : [...pixels, sizeOf(at.dtype)];
  return layout({ shape: at.shape, dtype: at.dtype, strides });
}

export function describeShape({ type, extent }: ImageShape): string {
  return `${type} ${extent.slice(0, IMAGE_TYPES[type].rank).join(" × ")}`;
}

function hasChannels({ shape }: Layout, { elements }: PixelFormat, asked: ImageType | undefined): boolean {
  if (elements > 1) return true;
  if (shape.length < 2 || shape[shape.length - 1] !== 1) return false;
  return asked === undefined || IMAGE_TYPES[asked].rank === shape.length - 1;
}

function channelProblem({ shape, strides, dtype }: Layout, { name, elements }: PixelFormat): ImageProblem | undefined {
  const last = shape.length - 1;
  if (shape[last] !== elements) {
    const remedy = `An image of ${name} is [height, width, ${elements}].`;
    return bad("shape", `its last dimension is ${shape[last]}; a pixel of ${name} has ${elements} channels.`, remedy);
  }
  if (elements === 1 || strides[last] === sizeOf(dtype)) return undefined;
  return bad("strides", `the channels of a pixel lie ${strides[last]} bytes apart, not ${sizeOf(dtype)}.`);
}

function dimensionsOf(type: ImageType | undefined): string {
  return type === undefined ? "an image has 1 to 3" : `a ${type} image has ${IMAGE_TYPES[type].rank}`;
}

function bad(argument: string, problem: string, remedy?: string): ImageProblem {
  return { argument, problem, ...(remedy === undefined ? {} : { remedy }) };
}

/** The platform whose driver (580.159) fetches an image from host memory as though its slices had no room between them. */
const UNSOUND = "NVIDIA CUDA";

/**
 * Why slices with room between them cannot be an image over host memory here. NVIDIA's driver reports the right pitches,
 * and brings bytes back with them, but fetches other bytes than those: the pixels would be wrong, without an error. Its
 * clEnqueueWriteImage and clEnqueueReadImage take such slices as they are.
 */
export function sliceProblem(image: ImageShape, { platform, driver }: OpenCLDevice): ImageProblem | undefined {
  const { extent: [, y, z], pitch } = image;
  if (platform !== UNSOUND || z === 1 || pitch.slice === pitch.row * y) return undefined;
  const room = `its slices lie ${pitch.slice} bytes apart, and are ${pitch.row * y} long`;
  return {
    argument: "strides",
    problem: `${room}: ${platform} ${driver} gives a kernel other bytes of such memory.`,
    remedy: "Leave no room between the slices: rows may have some.",
  };
}
