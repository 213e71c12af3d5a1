import { CL_MEM_READ_WRITE } from "../../../ffi/opencl/constants.ts";
import { CL_INVALID_OPERATION } from "../../../ffi/opencl/errors.ts";
import { cl_image_format, readClImageFormat } from "../../../ffi/opencl/structs.ts";
import type { BaseContext } from "../base_context.ts";
import type { OpenCLDevice } from "../device.ts";
import type { DeviceImages } from "../devices/features.ts";
import { check } from "../errors.ts";
import { formatOfCodes, type PixelFormat } from "./format.ts";
import { describeShape, type Extent, footprintOf, type ImageProblem, type ImageShape } from "./shape.ts";
import { IMAGE_TYPES, type ImageType } from "./type.ts";
import { opencl } from "../library.ts";

/** The image limits that all devices of a context with images have in common. */
export interface ImageLimits {
  /** True if a device has images. */
  readonly support: boolean;
  /** The most pixels along x, y and z of each kind of image. */
  readonly extents: { readonly [T in ImageType]: Extent };
  /** The largest image in bytes. */
  readonly maxAllocation: number;
  /** CL_DEVICE_IMAGE_PITCH_ALIGNMENT of an image over a buffer, in pixels; 0 if the devices have no such images. */
  readonly bufferPitch: number;
  /** CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT of an image over a buffer, in pixels; 0 without such images. */
  readonly bufferBase: number;
}

/** The image limits and formats of a context, asked once before the first target is made. */
export interface ImageAbilities {
  /** The largest images. */
  readonly limits: ImageLimits;
  /** The formats that kernels can read and write, for each kind. */
  readonly formats: { readonly [T in ImageType]: readonly PixelFormat[] };
}

export function imageAbilitiesOf(context: Pick<BaseContext, "handle" | "devices">): ImageAbilities {
  const limits = limitsOf(context.devices);
  const types = Object.keys(IMAGE_TYPES) as ImageType[];
  const formats = types.map((type) => [type, limits.support ? formatsOf(context, type) : []]);
  return { limits, formats: Object.fromEntries(formats) };
}

function limitsOf(all: readonly OpenCLDevice[]): ImageLimits {
  const devices = all.filter((device) => device.images !== undefined);
  const support = devices.length > 0 && opencl().clCreateImage !== null;
  const least = (figure: (images: DeviceImages) => number) =>
    support ? Math.min(...devices.map(({ images }) => figure(images!))) : 0;
  const [width, height] = [0, 1].map((i) => least(({ max2d }) => max2d[i]));
  const layers = least(({ maxArray }) => maxArray);
  const pitches = devices.map(({ images }) => images!.pitchAlign);
  return {
    support,
    extents: {
      "1D": [width, 1, 1],
      "2D": [width, height, 1],
      "3D": [least(({ max3d }) => max3d[0]), least(({ max3d }) => max3d[1]), least(({ max3d }) => max3d[2])],
      "1D array": [width, layers, 1],
      "2D array": [width, height, layers],
      "1D buffer": [least(({ maxBuffer }) => maxBuffer), 1, 1],
    },
    maxAllocation: Math.min(...devices.map(({ maxAllocation }) => maxAllocation)),
    // Powers of two: the largest fits all devices, if none is 0.
    bufferPitch: pitches.includes(0) ? 0 : Math.max(0, ...pitches),
    bufferBase: Math.max(0, ...devices.map(({ images }) => images!.baseAddressAlign)),
  };
}

function formatsOf(context: Pick<BaseContext, "handle" | "devices">, type: ImageType): readonly PixelFormat[] {
  const count = new Uint32Array(1);
  const ask = (most: number, formats: DataView<ArrayBuffer> | null, found: Uint32Array<ArrayBuffer> | null) =>
    opencl().clGetSupportedImageFormats(
      context.handle,
      CL_MEM_READ_WRITE,
      IMAGE_TYPES[type].code,
      most,
      formats,
      found,
    );
  const code = ask(0, null, count);
  if (code === CL_INVALID_OPERATION) return []; // none of its devices has such images
  check(code, "clGetSupportedImageFormats");
  if (count[0] === 0) return [];
  const { size } = cl_image_format;
  const formats = new DataView(new ArrayBuffer(size * count[0]));
  check(ask(count[0], formats, null), "clGetSupportedImageFormats");
  return Array.from({ length: count[0] }, (_, i) => readClImageFormat(formats, i * size))
    .map((format) => formatOfCodes(format.image_channel_order, format.image_channel_data_type))
    .filter((format) => format !== undefined);
}

export function limitProblem({ extents, maxAllocation }: ImageLimits, shape: ImageShape): ImageProblem | undefined {
  const most = extents[shape.type];
  const over = shape.extent.findIndex((pixels, i) => pixels > most[i]);
  if (over >= 0) {
    const limit = `${shape.extent[over]} pixels along ${"xyz"[over]} are more than the device's ${most[over]}.`;
    return { argument: "shape", problem: `${describeShape(shape)}: ${limit}`, remedy: "Map it in parts." };
  }
  const bytes = footprintOf(shape);
  if (bytes <= maxAllocation) return undefined;
  const problem = `${bytes} bytes are more than the ${maxAllocation} that the device takes in one image.`;
  return { argument: "shape", problem, remedy: "Map it in parts." };
}

/** The nearest formats to a missing one; those that change a kernel least come first. */
export function nearestTo(wanted: PixelFormat, there: readonly PixelFormat[]): readonly PixelFormat[] {
  const distance = (format: PixelFormat) =>
    4 * Number(format.bytesPerPixel !== wanted.bytesPerPixel) + 2 * Number(format.dtype !== wanted.dtype) +
    2 * Number(format.access !== wanted.access) + Number(format.type !== wanted.type) +
    Number(format.order !== wanted.order);
  return [...there].sort((a, b) => distance(a) - distance(b)).slice(0, 3);
}
