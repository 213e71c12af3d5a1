import { basename, join, relative, resolve } from "@std/path";

const ROOT = resolve(import.meta.dirname!, "../..");

/** A file of tests, of which only those run whose names begin so. */
export interface TestFile {
  readonly path: string;
  readonly only: string;
}

/** The files of this checkout below a folder whose paths, from the root on, fit. */
export async function filesBelow(folder: string, fits: (path: string) => boolean): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(ROOT, folder))) {
    const path = join(folder, name);
    if (isDirectory) found.push(...await filesBelow(path, fits));
    else if (fits(path)) found.push(relative(ROOT, join(ROOT, path)));
  }
  return found.sort();
}

/** All tests of CUDA's but those that make its calls fail: what lies in tests/cuda, and what is called so elsewhere. */
export function cudaTests(): Promise<string[]> {
  return filesBelow(
    "tests",
    (path) => /^tests\/(?:cuda\/.*|(?!abi|faults|unit).*\/cuda[^/]*)_test\.ts$/.test(path),
  );
}

/** The sweep over addresses. */
export const ALIGNMENT = "tests/opencl/alignment_test.ts";

/**
 * All tests of OpenCL's, but for the sweep over addresses, and those that do something 100,000 times: a map takes a GPU's
 * driver 200 µs and more.
 */
export function openclTests(): Promise<string[]> {
  return filesBelow("tests/opencl", (path) => /(?<!\/load)_test\.ts$/.test(path) && path !== ALIGNMENT);
}

/** The tests that make CUDA's calls fail, one after the other. */
export function faultTests(): Promise<string[]> {
  return filesBelow("tests/faults", (path) => /\/cuda[^/]*_test\.ts$/.test(path));
}

/** The topics of CUDA's among the programs that do what they should not: each of its rows has a process of its own. */
export async function cudaMisuse(): Promise<TestFile[]> {
  const topics = await filesBelow("tests/misuse/rows", (path) => /\/cuda[^/]*\.ts$/.test(path));
  return topics.map((path) => ({ path: "tests/misuse/misuse_test.ts", only: `misuse: ${basename(path, ".ts")}` }));
}

/** The tests of EGL's streams and images with CUDA. */
export function eglTests(): Promise<string[]> {
  return filesBelow("tests/egl", (path) => /_gpu_test\.ts$/.test(path));
}

/** All tests of Vulkan's: on one GPU, and between two. */
export function vulkanTests(): Promise<string[]> {
  return filesBelow("tests/vulkan", (path) => /_test\.ts$/.test(path));
}

/** The rings and the streams of two GPUs, and all files that are about nothing else. */
export async function twoGpuTests(): Promise<(string | TestFile)[]> {
  return [
    { path: "tests/vulkan/ring_gpu_test.ts", only: "vulkan: OpenCL on one GPU and CUDA on another" },
    { path: "tests/egl/stream_gpu_test.ts", only: "cuda: EGLStream: 1,000 frames from one GPU to another" },
    { path: "tests/egl/stream_gpu_test.ts", only: "cuda: EGLStream: arrays do not cross from one GPU to another" },
    { path: "tests/python/gpu/arrays_gpu_test.ts", only: "cuda: an array of another device" },
    ...await filesBelow("tests", (path) => /\/two_gpus[^/]*_test\.ts$/.test(path)),
  ];
}

/** All tests of UCX's. */
export function ucxTests(): Promise<string[]> {
  return filesBelow("tests", (path) => /^tests\/(?:ucx\/.*|faults\/cuda_ucx)_test\.ts$/.test(path));
}

/** CUDA's examples. */
export function cudaExamples(): Promise<string[]> {
  return filesBelow("examples", (path) => /^examples\/cuda-[^/]+\/main\.ts$/.test(path));
}

/** The text of a file. */
export function textOf(path: string): Promise<string> {
  return Deno.readTextFile(join(ROOT, path));
}

/** Is there a file of this path? */
export async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
