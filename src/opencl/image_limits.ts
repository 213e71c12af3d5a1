import * as cl from "../../ffi/opencl/constants.ts";
import type { ClDeviceId } from "../../ffi/opencl/handles.ts";
import { describeShape, type Extent, footprintOf, type ImageProblem, type ImageShape } from "./image_shape.ts";
import type { ImageType } from "./image_type.ts";
import { infoU32, infoU64, type Query } from "./info.ts";
import { opencl } from "./library.ts";

/** What a device says of images. */
export interface ImageLimits {
  /** CL_DEVICE_IMAGE_SUPPORT, and OpenCL 1.2's clCreateImage. */
  readonly support: boolean;
  /** The most pixels along x, y and z of each kind of image. */
  readonly extents: { readonly [T in ImageType]: Extent };
  /** CL_DEVICE_IMAGE_PITCH_ALIGNMENT: of an image over a buffer, in pixels; 0 where there are none. */
  readonly bufferPitch: number;
  /** CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT: of an image over a buffer, in pixels; 0 where there are none. */
  readonly bufferBase: number;
}

/** Asks a device for its limits. */
export function imageLimitsOf(device: ClDeviceId): ImageLimits {
  const fn = "clGetDeviceInfo";
  const query: Query = (name, size, value, written) => opencl().clGetDeviceInfo(device, name, size, value, written);
  const size = (name: number) => Number(infoU64(fn, query, name));
  const [width, height] = [size(cl.CL_DEVICE_IMAGE2D_MAX_WIDTH), size(cl.CL_DEVICE_IMAGE2D_MAX_HEIGHT)];
  const layers = size(cl.CL_DEVICE_IMAGE_MAX_ARRAY_SIZE);
  return {
    support: opencl().clCreateImage !== null && infoU32(fn, query, cl.CL_DEVICE_IMAGE_SUPPORT) !== 0,
    extents: {
      "1D": [width, 1, 1],
      "2D": [width, height, 1],
      "3D": [
        size(cl.CL_DEVICE_IMAGE3D_MAX_WIDTH),
        size(cl.CL_DEVICE_IMAGE3D_MAX_HEIGHT),
        size(cl.CL_DEVICE_IMAGE3D_MAX_DEPTH),
      ],
      "1D array": [width, layers, 1],
      "2D array": [width, height, layers],
      "1D buffer": [size(cl.CL_DEVICE_IMAGE_MAX_BUFFER_SIZE), 1, 1],
    },
    bufferPitch: newer(query, cl.CL_DEVICE_IMAGE_PITCH_ALIGNMENT),
    bufferBase: newer(query, cl.CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT),
  };
}

/** A figure that a device before OpenCL 2.0 does not know; 0 there. */
function newer(query: Query, name: number): number {
  const value = new Uint32Array(1);
  return query(name, 4n, value, null) === 0 ? value[0] : 0;
}

/** What of an image is beyond a device. */
export function limitProblem(
  { extents }: ImageLimits,
  maxAllocation: number,
  shape: ImageShape,
): ImageProblem | undefined {
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
