import type { OpenCL } from "../../ffi/opencl/functions.ts";
import { SYMBOLS } from "../../ffi/opencl/symbols.ts";
import { lazyLibrary } from "../core/library.ts";

/** The ICD loader, opened on the first call. */
export const opencl: () => OpenCL = lazyLibrary<OpenCL>({
  api: "opencl",
  candidates: [
    "libOpenCL.so.1",
    "libOpenCL.so",
    "/usr/lib/x86_64-linux-gnu/libOpenCL.so.1",
    "/usr/lib/aarch64-linux-gnu/libOpenCL.so.1",
    "/usr/lib64/libOpenCL.so.1",
  ],
  symbols: SYMBOLS,
  hint: "Install the loader and a driver: apt install ocl-icd-libopencl1 pocl-opencl-icd.",
});
