import type { OpenCL } from "../../ffi/opencl/functions.ts";
import { SYMBOLS } from "../../ffi/opencl/symbols.ts";
import { InteropError } from "../core/errors.ts";
import { keptLoaded } from "../core/native/libc.ts";
import { lazyLibrary } from "../core/native/library.ts";

const loader = lazyLibrary<OpenCL>({
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

let functions: OpenCL | undefined;

/** The ICD loader, opened on the first call. */
export function opencl(): OpenCL {
  return functions ??= keptLoaded("opencl", loader());
}

/** The functions that a loader of OpenCL 1.2 lacks. */
export type NewerName = { [Name in keyof OpenCL]: null extends OpenCL[Name] ? Name : never }[keyof OpenCL];

/**
 * A function that is newer than OpenCL 1.2.
 *
 * @throws {InteropError} if the loader lacks it.
 */
export function newer<Name extends NewerName>(name: Name): NonNullable<OpenCL[Name]> {
  const fn = opencl()[name];
  if (fn !== null && fn !== undefined) return fn;
  throw new InteropError(`The OpenCL loader has no ${name}.`, {
    api: "opencl",
    fn: name,
    hint: "Update it: apt install ocl-icd-libopencl1.",
  });
}
