import {
  cudaHostRegisterDefault,
  cudaHostRegisterIoMemory,
  cudaHostRegisterMapped,
  cudaHostRegisterPortable,
  cudaHostRegisterReadOnly,
} from "../../../ffi/cuda_runtime/constants.ts";
import { type Names, optionsIn } from "../../core/argument.ts";
import type { ArgumentError } from "../../core/errors.ts";
import { checks } from "../check.ts";
import type { CudaDevice } from "../device.ts";

/** The flags of cudaHostRegister. If all are false, memory is registered with CUDA's default (cudaHostRegisterDefault). */
export interface RegisterOptions {
  /** True if it is pinned for all devices (cudaHostRegisterPortable). True by default. */
  readonly portable?: boolean;
  /** True if kernels reach it (cudaHostRegisterMapped). True by default. With unified addressing they always do. */
  readonly mapped?: boolean;
  /** True if kernels only read it (cudaHostRegisterReadOnly). False by default. */
  readonly readOnly?: boolean;
  /** True for memory of another device of the machine (cudaHostRegisterIoMemory). False by default. */
  readonly ioMemory?: boolean;
}

const OPTIONS: Names<RegisterOptions> = { portable: true, mapped: true, readOnly: true, ioMemory: true };

export const FOR_MAPS: number = cudaHostRegisterPortable | cudaHostRegisterMapped;

export function registerFlags(given: RegisterOptions, { name, attributes }: CudaDevice): number {
  const { portable = true, mapped = true, readOnly = false, ioMemory = false } = optionsIn(given, OPTIONS);
  checks.assertBooleans({ portable, mapped, readOnly, ioMemory });
  if (mapped && attributes.canMapHostMemory !== 1) {
    throw unsupported("mapped", `${name} cannot map host memory (canMapHostMemory is 0).`);
  }
  if (readOnly && attributes.hostRegisterReadOnlySupported !== 1) {
    throw unsupported("readOnly", `${name} cannot register memory as read-only (hostRegisterReadOnlySupported is 0).`);
  }
  return (portable ? cudaHostRegisterPortable : cudaHostRegisterDefault) | (mapped ? cudaHostRegisterMapped : 0) |
    (readOnly ? cudaHostRegisterReadOnly : 0) | (ioMemory ? cudaHostRegisterIoMemory : 0);
}

function unsupported(argument: keyof RegisterOptions, what: string): ArgumentError {
  const hint = `Pass { ${argument}: false }.`;
  return checks.wrong(argument, what, hint, "cudaHostRegister");
}
