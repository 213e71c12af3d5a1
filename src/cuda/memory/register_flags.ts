import {
  cudaHostRegisterDefault,
  cudaHostRegisterIoMemory,
  cudaHostRegisterMapped,
  cudaHostRegisterPortable,
  cudaHostRegisterReadOnly,
} from "../../../ffi/cuda_runtime/constants.ts";
import { type Names, optionsIn } from "../../core/argument.ts";
import { ArgumentError } from "../../core/errors.ts";
import { checks } from "../check.ts";
import type { CudaDevice } from "../device.ts";

/**
 * How memory of the host is registered; each is a flag of cudaHostRegister. Where neither is asked for it is registered as
 * CUDA has it by default (cudaHostRegisterDefault).
 */
export interface RegisterOptions {
  /** Is it pinned memory to every device (cudaHostRegisterPortable)? True by default. */
  readonly portable?: boolean;
  /** Do kernels reach it (cudaHostRegisterMapped)? True by default. With unified addressing they do so or so. */
  readonly mapped?: boolean;
  /** Kernels only read it (cudaHostRegisterReadOnly). False by default. */
  readonly readOnly?: boolean;
  /** It is memory of another device of the machine (cudaHostRegisterIoMemory). False by default. */
  readonly ioMemory?: boolean;
}

const OPTIONS: Names<RegisterOptions> = { portable: true, mapped: true, readOnly: true, ioMemory: true };

/** What a map registers memory with. */
export const FOR_MAPS: number = cudaHostRegisterPortable | cudaHostRegisterMapped;

/**
 * The flags that were asked for.
 *
 * @throws {ArgumentError} where the device has none of a kind.
 */
export function registerFlags(given: RegisterOptions, { name, attributes }: CudaDevice): number {
  const { portable = true, mapped = true, readOnly = false, ioMemory = false } = optionsIn(given, OPTIONS);
  checks.assertBooleans({ portable, mapped, readOnly, ioMemory });
  if (mapped && attributes.canMapHostMemory !== 1) {
    throw unsupported("mapped", `${name} maps no memory of the host (canMapHostMemory is 0).`);
  }
  if (readOnly && attributes.hostRegisterReadOnlySupported !== 1) {
    throw unsupported("readOnly", `${name} registers no memory to be only read (hostRegisterReadOnlySupported is 0).`);
  }
  return (portable ? cudaHostRegisterPortable : cudaHostRegisterDefault) | (mapped ? cudaHostRegisterMapped : 0) |
    (readOnly ? cudaHostRegisterReadOnly : 0) | (ioMemory ? cudaHostRegisterIoMemory : 0);
}

function unsupported(argument: keyof RegisterOptions, what: string): ArgumentError {
  const hint = `Pass { ${argument}: false }.`;
  return new ArgumentError(`${argument}: ${what}`, { api: "cuda", fn: "cudaHostRegister", argument, hint });
}
