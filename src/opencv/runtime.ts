import { shown } from "../core/argument.ts";
import { environmentInWords } from "../core/native/library.ts";
import { InteropError } from "../core/errors.ts";
import { core } from "./library.ts";

/** Names the library that OpenCV opens for OpenCL, or is `disabled`. */
const RUNTIME = "OPENCV_OPENCL_RUNTIME";

/**
 * OpenCV opens OpenCL by itself, once a process, and may have been told not to.
 *
 * @throws {InteropError} where it has none.
 */
export function assertOpenCL(): void {
  if (core().ocl_haveOpenCL() !== 0) return;
  const set = environmentInWords(RUNTIME);
  throw new InteropError("OpenCV has no OpenCL here: it opens that by itself, and found none.", {
    api: "opencv",
    fn: "ocl_haveOpenCL",
    hint: set === undefined
      ? `Install OpenCL and a driver: apt install ocl-icd-libopencl1 pocl-opencl-icd. Where they are: is ${RUNTIME} set?`
      : `Unset ${RUNTIME}=${shown(set)}.`,
  });
}
