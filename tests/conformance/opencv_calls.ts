/**
 * What the suite asks of OpenCV past all of samepage's checks, beside `cv.copyTo` and `cv.bitwise_not`.
 *
 * @module
 */
import { core } from "../../src/opencv/library.ts";
import { type OpenCVTensor, OpenCVUMat } from "../../src/opencv/mod.ts";
import { noArray } from "../../src/opencv/slots.ts";

/** `src.copyTo(dst)`; UMats are used in `execution.run(…)`. */
export function rawCopy(src: OpenCVTensor, dst: OpenCVTensor): void {
  const copyTo = src instanceof OpenCVUMat ? core().UMat_copyTo : core().Mat_copyTo;
  copyTo(src.rawHandle, dst.slot.output);
}

/** `bitwise_not(src, dst)`: on UMats a kernel of the device's. */
export function rawInvert(src: OpenCVTensor, dst: OpenCVTensor): void {
  core().bitwise_not(src.slot.input, dst.slot.output, noArray());
}
