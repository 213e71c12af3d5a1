import type { Address } from "../../../ffi/address.ts";
import { CL_FALSE } from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import type { Call } from "../../core/device/driver.ts";
import type { OpenCLContext } from "../context.ts";
import type { ClLane } from "../lane.ts";
import { nativePitches, ORIGIN, regionOf } from "./native.ts";
import type { ImageShape } from "./shape.ts";
import { opencl } from "../library.ts";

/** A driver image that is a copy of host memory. */
export interface ImageCopy {
  /** The call that copies to the image. The host's bytes must not change before it is done. */
  write(): Call<ClLane>;
  /** The call that copies back. The host's bytes must not be read before it is done. */
  read(): Call<ClLane>;
}

/** Copies between an image and host memory with the image's pitches; counted in `cl.bytesCopied`. */
export function imageCopy(
  context: OpenCLContext,
  mem: ClMem,
  image: ImageShape,
  address: Address,
  byteLength: number,
): ImageCopy {
  const [row, length] = nativePitches(image);
  const region = regionOf(image.extent);
  const copy = (fn: "clEnqueueReadImage" | "clEnqueueWriteImage"): Call<ClLane> => ({
    fn,
    call({ queue, waitCount, waitList, slot }) {
      const enqueue = opencl()[fn];
      const code = enqueue(queue, mem, CL_FALSE, ORIGIN, region, row, length, address, waitCount, waitList, slot);
      if (code === 0) context.countCopied(byteLength);
      return code;
    },
  });
  return { write: () => copy("clEnqueueWriteImage"), read: () => copy("clEnqueueReadImage") };
}
