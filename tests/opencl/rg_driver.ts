/**
 * PoCL as a driver that has images of RG, 8 bits each: an image of R with 16 bits stands for one, so that a kernel reads both
 * channels as one number. It has to be imported before OpenCL is opened.
 *
 * @module
 */
import * as cl from "../../ffi/opencl/constants.ts";
import type { OpenCL } from "../../ffi/opencl/functions.ts";
import { readClImageDesc, readClImageFormat, writeClImageFormat } from "../../ffi/opencl/structs.ts";
import { setTap } from "../../src/core/native/library.ts";

/** Order, width and height of each image that was made. */
export const made: string[] = [];

setTap((api, functions) => {
  if (api !== "opencl") return functions;
  const real = functions as unknown as OpenCL;
  const taps: Partial<OpenCL> = {
    clGetSupportedImageFormats(context, flags, type, room, formats, count) {
      const code = real.clGetSupportedImageFormats(context, flags, type, room, formats, count);
      const last = { image_channel_order: cl.CL_RG, image_channel_data_type: cl.CL_UNSIGNED_INT8 };
      if (formats !== null) writeClImageFormat(formats as DataView<ArrayBuffer>, 8 * (room - 1), last);
      return code;
    },
    clCreateImage(context, flags, pixels, desc, ...rest) {
      const { image_channel_order: order } = readClImageFormat(pixels as DataView<ArrayBuffer>, 0);
      const { image_width, image_height } = readClImageDesc(desc as DataView<ArrayBuffer>, 0);
      made.push(`${order === cl.CL_RG ? "RG" : "R"} ${image_width} × ${image_height}`);
      if (order !== cl.CL_RG) return real.clCreateImage!(context, flags, pixels, desc, ...rest);
      const both = new DataView(new ArrayBuffer(8));
      writeClImageFormat(both, 0, { image_channel_order: cl.CL_R, image_channel_data_type: cl.CL_UNSIGNED_INT16 });
      return real.clCreateImage!(context, flags, both, desc, ...rest);
    },
  };
  return { ...functions, ...taps };
});
