import { oneOf } from "./check.ts";
import type { AdvisorRowId } from "./rows/mod.ts";

/**
 * A kind of memory that CUDA programs use: the GPU's own (cudaMalloc), plain memory of the host (malloc), page-locked
 * memory of the host (cudaHostAlloc), memory of the host that was page-locked where it was (cudaHostRegister), and
 * unified memory (cudaMallocManaged).
 */
export type AdvisedKind = "device" | "pageable" | "pinned" | "registered" | "managed";

/** All of them. */
export const ADVISED_KINDS: readonly AdvisedKind[] = Object.freeze([
  "device",
  "pageable",
  "pinned",
  "registered",
  "managed",
]);

/** How memory of a kind comes and goes. */
export interface AdvisedFunctions {
  /** The function that makes it. */
  readonly allocate: "cudaMalloc" | "malloc" | "cudaHostAlloc" | "cudaHostRegister" | "cudaMallocManaged";
  /** The only function that it goes back by. */
  readonly release: "cudaFree" | "free" | "cudaFreeHost" | "cudaHostUnregister";
  /** The rule. */
  readonly row: AdvisorRowId;
}

const FUNCTIONS: Readonly<Record<AdvisedKind, AdvisedFunctions>> = {
  device: { allocate: "cudaMalloc", release: "cudaFree", row: "cuda/cudaFree/device" },
  pageable: { allocate: "malloc", release: "free", row: "003/3.1/pageable-cpu-only" },
  pinned: { allocate: "cudaHostAlloc", release: "cudaFreeHost", row: "002/cudaHostAlloc/free" },
  registered: { allocate: "cudaHostRegister", release: "cudaHostUnregister", row: "002/cudaHostRegister/unregister" },
  managed: { allocate: "cudaMallocManaged", release: "cudaFree", row: "cuda/cudaMallocManaged/free" },
};

/**
 * By which function memory of a kind is made, and by which alone it goes back.
 *
 * @throws {ArgumentError} where it is no kind.
 *
 * @example
 * ```ts
 * import { memoryFunctions } from "@samepage/interop/advisor";
 *
 * console.log(memoryFunctions("pinned").release); // cudaFreeHost
 * ```
 */
export function memoryFunctions(kind: AdvisedKind): AdvisedFunctions {
  return FUNCTIONS[oneOf(kind, ADVISED_KINDS, "kind")];
}
