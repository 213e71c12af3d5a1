import { TARGETS } from "../../ffi/generate/clang.ts";
import type { Library } from "../../ffi/generate/library.ts";
import { cuda } from "../../ffi/generate/lists/cuda.ts";
import { CUDA_12_FOLDER } from "../cuda_libraries.ts";

/** What the ABI tests need and this machine lacks: names of tools, and of Debian packages for headers. */
const MISSING: readonly string[] = [
  ...["cc", "clang", "clang++"].filter((tool) => !runs(tool)),
  ...exists("/usr/include/CL/cl_ext.h") ? [] : ["opencl-headers"],
  ...TARGETS
    .filter((target) => !exists(`/usr/${target}/include/bits/wordsize.h`))
    .filter((target) => !exists(`/usr/include/${target}/bits/wordsize.h`))
    .map((target) => `C headers for ${target}`),
];

/** What the tests of C++ lists need besides. */
const CXX_MISSING: readonly string[] = [
  ...runs("g++") ? [] : ["g++"],
  ...["core", "imgproc", "imgcodecs"].filter((part) => !exists(`/usr/include/opencv4/opencv2/${part}.hpp`))
    .map((part) => `libopencv-${part}-dev`),
];

/** What the tests of CUDA's lists need besides. */
const CUDA_MISSING: readonly string[] = ["cuda_runtime_api.h", "cuda.h", "nvrtc.h", "crt/host_defines.h"]
  .filter((header) => !cuda.folders.some((folder) => exists(`${folder}/${header}`)))
  .map((header) => `CUDA's ${header}`);

/** What a test may need besides a C compiler. */
export type Need = "c++" | "cuda" | "cuda 12" | `header ${string}`;

const NEEDS: Readonly<Record<string, readonly string[]>> = {
  "c++": CXX_MISSING,
  "cuda": CUDA_MISSING,
  "cuda 12": exists(`${CUDA_12_FOLDER}include/cuda_runtime_api.h`) ? [] : ["CUDA 12's headers"],
};

/** Registers a test which is ignored, and says why in its name, where a tool is missing. */
export function abiTest(name: string, fn: () => Promise<void>, ...needs: readonly Need[]): void {
  const missing = [...MISSING, ...needs.flatMap((need) => NEEDS[need] ?? missingFrom(need))];
  const ignore = missing.length > 0;
  Deno.test({ name: ignore ? `${name} (needs ${missing.join(", ")})` : name, ignore, fn });
}

/** What the headers of a list need. */
export function needsOf({ cxx, folders, headers }: Library): Need[] {
  if (folders === cuda.folders) return ["cuda"];
  if (folders !== undefined && !cxx) return [`header ${folders[0]}/${headers[0]}`];
  return cxx ? ["c++"] : [];
}

function missingFrom(need: string): string[] {
  return exists(need.replace("header ", "")) ? [] : [need];
}

function runs(tool: string): boolean {
  try {
    return new Deno.Command(tool, { args: ["--version"], stdout: "null", stderr: "null" }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
