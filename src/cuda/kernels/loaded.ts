import type { Address } from "../../../ffi/address.ts";
import { CUDA_ERROR_INVALID_VALUE } from "../../../ffi/cuda_driver/errors.ts";
import type { CUkernel, CUlibrary } from "../../../ffi/cuda_driver/handles.ts";
import { cudaErrorInvalidDeviceFunction, cudaErrorSymbolNotFound } from "../../../ffi/cuda_runtime/errors.ts";
import type { CudaLibrary } from "../../../ffi/cuda_runtime/handles.ts";
import { cString, textAt } from "../../core/native/text.ts";
import type { Undo } from "../../core/life/undo.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { check, checkDriver, checkRelease } from "../errors.ts";
import { cudaDriver, cudart, newerDriver, newerRuntime } from "../library.ts";
import { owned } from "../primary_context.ts";
import type { Code } from "./code.ts";
import { MAX_PARAMETER_BYTES } from "./declared.ts";
import { JitLog } from "./jit_log.ts";

export class LoadedCode {
  readonly handle: CudaLibrary;
  readonly #within: CudaPrimaryContext["within"];
  readonly #log: JitLog | undefined;

  /**
   * Loads the code (cudaLibraryLoadData); `undo` unloads it.
   * @throws {CudaBuildError} for PTX that does not compile.
   * @throws {InteropError} if libcudart is older than 12.8.
   */
  constructor(context: CudaPrimaryContext, { isPtx, bytes }: Code, undo: Undo) {
    const load = newerRuntime("cudaLibraryLoadData");
    const unload = newerRuntime("cudaLibraryUnload");
    this.#within = context.within;
    this.#log = isPtx ? new JitLog() : undefined;
    const { options = null, values = null } = this.#log ?? {};
    const out = new BigUint64Array(1);
    this.compiled(() =>
      check(load(out, bytes, options, values, options?.length ?? 0, null, null, 0), "cudaLibraryLoadData")
    );
    this.handle = out[0] as CudaLibrary;
    owned(context, "cuda.cudaLibrary_t", undo, () => checkRelease(unload(this.handle), "cudaLibraryUnload"));
    if (isPtx) this.#compile();
  }

  /** A kernel by the driver's name; undefined if the library has no such kernel. */
  kernel(name: string): Address | undefined {
    const find = newerRuntime("cudaLibraryGetKernel");
    const out = new BigUint64Array(1);
    const text = cString(name);
    return this.compiled(() => {
      const code = find(out, this.handle, text);
      if (code === cudaErrorSymbolNotFound || code === cudaErrorInvalidDeviceFunction) {
        cudart().cudaGetLastError(); // the caller reports it
        return undefined;
      }
      check(code, "cudaLibraryGetKernel");
      return out[0] as Address;
    });
  }

  get kernelNames(): readonly string[] {
    const countKernels = newerRuntime("cudaLibraryGetKernelCount");
    const enumerate = newerRuntime("cudaLibraryEnumerateKernels");
    const nameOf = newerDriver("cuKernelGetName");
    return this.compiled(() => {
      const count = new Uint32Array(1);
      check(countKernels(count, this.handle), "cudaLibraryGetKernelCount");
      if (count[0] === 0) return [];
      const kernels = new BigUint64Array(count[0]);
      check(enumerate(kernels, kernels.length, this.handle), "cudaLibraryEnumerateKernels");
      const out = new BigUint64Array(1);
      return Array.from(kernels, (kernel) => {
        checkDriver(nameOf(out, kernel as CUkernel), "cuKernelGetName");
        return textAt(out[0] as Address) ?? "";
      });
    });
  }

  /** Makes the driver compile it now for the context's device, and not at the first request for a kernel. */
  #compile(): void {
    const out = new BigUint64Array(1);
    const library = this.handle as bigint as CUlibrary;
    this.compiled(() => checkDriver(cudaDriver().cuLibraryGetModule(out, library), "cuLibraryGetModule"));
  }

  /**
   * The bytes that a launch reads of each parameter. @throws {InteropError} before CUDA 12.4.
   */
  parameterSizes(kernel: Address): number[] {
    const ask = newerDriver("cuKernelGetParamInfo");
    const [offset, size] = [new BigUint64Array(1), new BigUint64Array(1)];
    return this.compiled(() => {
      const sizes: number[] = [];
      for (let i = 0n; i < MAX_PARAMETER_BYTES; i++) {
        const code = ask(kernel as bigint as CUkernel, i, offset, size);
        if (code === CUDA_ERROR_INVALID_VALUE) break; // after the last parameter
        checkDriver(code, "cuKernelGetParamInfo");
        sizes.push(Number(size[0]));
      }
      return sizes;
    });
  }

  /** Makes a call within the context; an error gets the log of the driver's compiler. */
  compiled<R>(call: () => R): R {
    try {
      return this.#within(call);
    } catch (error) {
      throw this.#log?.errorOf(error) ?? error;
    }
  }
}
