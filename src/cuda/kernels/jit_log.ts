import { cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes } from "../../../ffi/cuda_runtime/constants.ts";
import { NativeCallError } from "../../core/errors.ts";
import { addressOf } from "../../core/native/pin.ts";
import { CudaBuildError, firstLines } from "./errors.ts";

const LOG_BYTES = 16_384;

/** The log of the driver's PTX compiler. Keep it until the unload: the compiler may run as late as the first kernel request. */
export class JitLog {
  readonly options: Uint32Array<ArrayBuffer> = new Uint32Array(new ArrayBuffer(8));
  readonly values: BigUint64Array<ArrayBuffer>;
  readonly #text: Uint8Array<ArrayBuffer> = new Uint8Array(new ArrayBuffer(LOG_BYTES));

  constructor() {
    // With separate buffers: V8 may move the elements of small arrays, and the driver writes to them later.
    this.options.set([cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes]);
    this.values = new BigUint64Array(new ArrayBuffer(16));
    this.values.set([addressOf(this.#text, "cuda"), BigInt(LOG_BYTES)]);
  }

  /** The error with the compiler's log; unchanged if the log is empty. */
  errorOf(error: unknown): unknown {
    const end = this.#text.indexOf(0);
    const log = new TextDecoder().decode(this.#text.subarray(0, end < 0 ? LOG_BYTES : end)).trim();
    if (log === "" || !(error instanceof NativeCallError)) return error;
    const { fn, code, codeName } = error;
    return new CudaBuildError(`The PTX does not compile: ${firstLines(log)}`, log, {
      api: "cuda",
      cause: error,
      ...(fn === undefined ? {} : { fn }),
      ...(code === undefined ? {} : { code }),
      ...(codeName === undefined ? {} : { codeName }),
    });
  }
}
