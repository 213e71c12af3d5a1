import type { Address } from "../../../ffi/address.ts";
import { CL_FALSE } from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import type { Fence } from "../../core/life/fence.ts";
import type { OpenCLContext } from "../context.ts";
import { OpenCLFence } from "../event.ts";
import { nativePitches, ORIGIN, regionOf } from "./native.ts";
import type { ImageShape } from "./shape.ts";
import { opencl } from "../library.ts";

/** An image of the driver's own, and the memory of the host's that it is a copy of. */
export interface ImageCopy {
  /** Submits the copy to the image behind `waits`. The host's bytes may not change before it is done. */
  write(waits: readonly Fence[]): OpenCLFence;
  /** Submits the copy back behind `waits`. The host's bytes may not be looked at before it is done. */
  read(waits: readonly Fence[]): OpenCLFence;
}

/** Copies between an image and the host's memory, with the image's pitches there; counted in `cl.bytesCopied`. */
export function imageCopy(
  context: OpenCLContext,
  mem: ClMem,
  image: ImageShape,
  address: Address,
  byteLength: number,
): ImageCopy {
  const { queue } = context;
  const [row, slice] = nativePitches(image);
  const copy = (fn: "clEnqueueReadImage" | "clEnqueueWriteImage", waits: readonly Fence[]) => {
    const region = regionOf(image.extent);
    const point = queue.submit(
      fn,
      waits,
      (...rest) => opencl()[fn](queue.rawHandle, mem, CL_FALSE, ORIGIN, region, row, slice, address, ...rest),
    );
    context.countCopied(byteLength);
    return new OpenCLFence(context, queue, point);
  };
  return {
    write: (waits) => copy("clEnqueueWriteImage", waits),
    read: (waits) => copy("clEnqueueReadImage", waits),
  };
}
