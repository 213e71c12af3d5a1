import type { OpenCL } from "../../ffi/opencl/functions.ts";
import { SYMBOLS } from "../../ffi/opencl/symbols.ts";
import { keptLibrary } from "../core/native/libc.ts";
import { libraryPaths, type Newer, newerOf } from "../core/native/library.ts";

export const opencl: () => OpenCL = keptLibrary<OpenCL>({
  api: "opencl",
  candidates: libraryPaths("libOpenCL.so.1", "libOpenCL.so"),
  symbols: SYMBOLS,
  hint: "Install the loader and a driver: apt install ocl-icd-libopencl1 pocl-opencl-icd.",
});

export type NewerName = Newer<OpenCL>;

/** @throws {InteropError} if the loader lacks the function. */
export function newer<Name extends NewerName>(name: Name): NonNullable<OpenCL[Name]> {
  const hint = "Update it: apt install ocl-icd-libopencl1.";
  return newerOf(opencl(), name, "The OpenCL loader", { api: "opencl", hint });
}
