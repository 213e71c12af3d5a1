// ONNX Runtime with CUDA's provider, and a GPU, of the tests.

import { fromFileUrl } from "@std/path";
import { host } from "@samepage/interop";
import type { Fakes } from "../cuda/kernels/recording.ts";
import { LIBRARY } from "./open.ts";

const memory: Disposable[] = [];

/** What the recorded GPU allocates is the host's. */
export const FAKES: Fakes = {
  cudaMalloc(out: BigUint64Array, byteLength: bigint) {
    const block = host.allocate({ shape: [Number(byteLength)], dtype: "u8" });
    memory.push(block);
    out[0] = block.address;
    return 0;
  },
  cudaFree: () => 0,
};

/** Frees what the GPU has allocated. */
export function freeAll(): void {
  for (const block of memory.splice(0)) block[Symbol.dispose]();
}

let library: string | undefined;

/** The library of cuda.c, compiled once. */
export function simulated(): string {
  if (library !== undefined) return library;
  const [source, include, folder] = ["cuda.c", "../../.inference/onnxruntime_include", "../../out/"]
    .map((path) => fromFileUrl(new URL(path, import.meta.url)));
  const path = `${folder}libonnxruntime_cuda.so`;
  Deno.mkdirSync(folder, { recursive: true });
  const args = ["-shared", "-fPIC", "-o", path, `-DREAL="${LIBRARY}"`, "-isystem", include, source];
  const { success, stderr } = new Deno.Command("cc", { args }).outputSync();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return library = path;
}
