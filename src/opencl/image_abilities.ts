import { CL_MEM_READ_WRITE } from "../../ffi/opencl/constants.ts";
import { CL_INVALID_OPERATION } from "../../ffi/opencl/errors.ts";
import { cl_image_format, readClImageFormat } from "../../ffi/opencl/structs.ts";
import type { OpenCLContext } from "./context.ts";
import { check } from "./errors.ts";
import { formatOfCodes, type PixelFormat } from "./image_format.ts";
import { type ImageLimits, imageLimitsOf } from "./image_limits.ts";
import { IMAGE_TYPES, type ImageType } from "./image_type.ts";
import { opencl } from "./library.ts";

/** What a device has of images: asked once, before the first target is made. */
export interface ImageAbilities {
  /** The largest that there may be. */
  readonly limits: ImageLimits;
  /** The formats that kernels can read and write, for each kind. */
  readonly formats: { readonly [T in ImageType]: readonly PixelFormat[] };
}

/** Asks a device. @throws {NativeCallError} where it cannot be asked. */
export function imageAbilitiesOf(context: OpenCLContext): ImageAbilities {
  const limits = imageLimitsOf(context.device.handle);
  const types = Object.keys(IMAGE_TYPES) as ImageType[];
  const formats = types.map((type) => [type, limits.support ? formatsOf(context, type) : []]);
  return { limits, formats: Object.fromEntries(formats) };
}

/** The formats that kernels can read and write; those that are not in our table are left out. */
function formatsOf(context: OpenCLContext, type: ImageType): readonly PixelFormat[] {
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

/** The formats nearest to one that is not there: those that need the fewest changes to a kernel come first. */
export function nearestTo(wanted: PixelFormat, there: readonly PixelFormat[]): readonly PixelFormat[] {
  const distance = (format: PixelFormat) =>
    4 * Number(format.bytesPerPixel !== wanted.bytesPerPixel) + 2 * Number(format.dtype !== wanted.dtype) +
    2 * Number(format.access !== wanted.access) + Number(format.type !== wanted.type) +
    Number(format.order !== wanted.order);
  return [...there].sort((a, b) => distance(a) - distance(b)).slice(0, 3);
}
