import { cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes } from "../../../ffi/cuda_runtime/constants.ts";
import { NativeCallError } from "../../core/errors.ts";
import { addressOf } from "../../core/native/pin.ts";
import { CudaBuildError, firstLines } from "./errors.ts";

/** The most of the log that is kept, in bytes. */
const LOG_BYTES = 16_384;

/**
 * What the driver's own compiler has to say of PTX. It may compile when a kernel is first asked for, and write then: so
 * whoever has loaded the PTX keeps this until it is unloaded.
 */
export class JitLog {
  /** The `cudaJitOption`s. */
  readonly options: Uint32Array<ArrayBuffer> = new Uint32Array(new ArrayBuffer(8));
  /** Their values: the address of the text, and how long it may become. */
  readonly values: BigUint64Array<ArrayBuffer>;
  readonly #text: Uint8Array<ArrayBuffer> = new Uint8Array(new ArrayBuffer(LOG_BYTES));

  /** An empty one. */
  constructor() {
    // Of buffers of their own: V8 moves the elements of small arrays that have none, and the driver writes to them later.
    this.options.set([cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes]);
    this.values = new BigUint64Array(new ArrayBuffer(16));
    this.values.set([addressOf(this.#text, "cuda"), BigInt(LOG_BYTES)]);
  }

  /** The error with what the compiler had to say; as it is where that is nothing. */
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
