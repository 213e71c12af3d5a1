/** Every native call of CUDA's libraries that needs no GPU fails once. */
import { assertNoneSwallowed, NAME, SOURCE, swept } from "./cuda.ts"; // first: it taps the libraries
import { assert, assertThrows } from "@std/assert";
import { InteropError } from "../../mod.ts";
import { CudaBuildError, CudaContext, cudaVersions } from "../../src/cuda/mod.ts";
import { compile } from "../../src/cuda/kernels/compile.ts";
import { sourceIn } from "../../src/cuda/kernels/source.ts";
import { devices, missing } from "../cuda/help.ts";
import { cudaLibrary } from "../cuda_libraries.ts";

/** A test that needs a library of CUDA's, and no device. */
function libraryTest(name: string, library: string, run: () => Promise<unknown>, lacks?: string): void {
  const reason = lacks ?? (cudaLibrary(library) === undefined ? library : undefined);
  const title = `faults: ${name}${reason === undefined ? "" : ` (not here: ${reason})`}`;
  Deno.test({ name: title, ignore: reason !== undefined, fn: () => run().then(() => {}) });
}

libraryTest("compiling CUDA C++", "libnvrtc.so.13", async () => {
  const device = { name: "a GPU", computeCapability: { major: 9, minor: 0 } };
  const faults = await swept(() => compile(sourceIn(SOURCE, { names: [NAME] }), device), [
    "nvrtc.nvrtcCreateProgram",
    "nvrtc.nvrtcAddNameExpression",
    "nvrtc.nvrtcCompileProgram",
    "nvrtc.nvrtcGetLoweredName",
    "nvrtc.nvrtcGetCUBIN",
    "nvrtc.nvrtcGetProgramLog",
    "nvrtc.nvrtcDestroyProgram",
  ]);
  assertNoneSwallowed(faults);
});

libraryTest("compiling what does not compile", "libnvrtc.so.13", async () => {
  const device = { name: "a GPU", computeCapability: { major: 9, minor: 0 } };
  await swept(
    () => assertThrows(() => compile(sourceIn("__global__ void k( {}", {}), device), InteropError),
    ["nvrtc.nvrtcCompileProgram", "nvrtc.nvrtcGetProgramLog"],
  );
  assertThrows(() => compile(sourceIn("__global__ void k( {}", {}), device), CudaBuildError);
});

libraryTest(
  "opening a device where there is none",
  "libcudart.so.13",
  () => swept(() => assertThrows(() => CudaContext.open(), InteropError), ["cudart.cudaGetDeviceCount"]),
  devices.length > 0 ? "a machine without a GPU" : undefined,
);

libraryTest("the versions of CUDA", "libcudart.so.13", async () => {
  const faults = await swept(() => cudaVersions(), ["cudart.cudaRuntimeGetVersion", "cudart.cudaDriverGetVersion"]);
  assertNoneSwallowed(faults);
});

Deno.test("faults: why CUDA has no device here is known", () => {
  assert(devices.length > 0 || (missing !== undefined && missing !== ""));
});
