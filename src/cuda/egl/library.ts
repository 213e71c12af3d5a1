import type { CudaEgl } from "../../../ffi/cuda_egl/functions.ts";
import { SYMBOLS } from "../../../ffi/cuda_egl/symbols.ts";
import { lazyLibrary, openingOf } from "../../core/native/library.ts";
import { cudart } from "../library.ts";

let functions: CudaEgl | undefined;

/** CUDA's functions for EGL, in the open runtime, which has them since CUDA 12. */
export function cudaEgl(): CudaEgl {
  if (functions !== undefined) return functions;
  cudart();
  return functions = lazyLibrary<CudaEgl>({
    api: "cuda_egl",
    candidates: [openingOf("cudart")!.path!],
    symbols: SYMBOLS,
    hint: "Use a libcudart that was made with EGL: NVIDIA's own for Linux.",
  })();
}
