import {
  cudaHostAllocDefault,
  cudaHostAllocMapped,
  cudaHostAllocPortable,
  cudaHostAllocWriteCombined,
} from "../../../ffi/cuda_runtime/constants.ts";
import type { Address } from "../../../ffi/address.ts";
import { checks } from "../check.ts";
import type { CudaContext } from "../context.ts";
import { cudart } from "../library.ts";
import { allocatedBy, freeHost } from "./allocate.ts";
import type { CudaBlock } from "./block.ts";

/**
 * What kind of pinned memory it is; each is a flag of cudaHostAlloc. Without any of them (`portable` and `mapped` false) it
 * is what cudaMallocHost makes, which is called then. With unified addressing all of it is portable and mapped.
 */
export interface PinnedFlags {
  /** Is it pinned memory to every device (cudaHostAllocPortable)? True by default. */
  readonly portable?: boolean;
  /** Do kernels reach it (cudaHostAllocMapped)? True by default. */
  readonly mapped?: boolean;
  /**
   * Is it left out of the CPU's caches (cudaHostAllocWriteCombined)? The CPU writes it as fast as ever, and reads it very
   * slowly. False by default.
   */
  readonly writeCombined?: boolean;
}

/** The flags, by CUDA's names. */
export const FLAGS = {
  portable: ["cudaHostAllocPortable", cudaHostAllocPortable],
  mapped: ["cudaHostAllocMapped", cudaHostAllocMapped],
  writeCombined: ["cudaHostAllocWriteCombined", cudaHostAllocWriteCombined],
} as const;

/** The flags that were asked for, each read once. */
export function pinnedFlags(given: PinnedFlags): Required<PinnedFlags> {
  const { portable = true, mapped = true, writeCombined = false } = given;
  const flags = { portable, mapped, writeCombined };
  checks.assertBooleans(flags);
  return flags;
}

/** A page-locked block of the host's memory. */
export function pinnedBlock(
  context: CudaContext,
  byteLength: number,
  asked: Readonly<Record<keyof typeof FLAGS, boolean>>,
): CudaBlock {
  const chosen = Object.entries(FLAGS).filter(([name]) => asked[name as keyof typeof FLAGS]).map(([, flag]) => flag);
  const flags = chosen.reduce((bits, [, bit]) => bits | bit, cudaHostAllocDefault);
  const length = BigInt(byteLength);
  const address = flags === cudaHostAllocDefault
    ? allocatedBy(context, "cudaMallocHost", (out) => cudart().cudaMallocHost(out, length))
    : allocatedBy(context, "cudaHostAlloc", (out) => cudart().cudaHostAlloc(out, length, flags));
  const free = freeHost(context, address);
  try {
    return {
      kind: "cuda.pinned",
      memory: "pinned",
      address,
      deviceAddress: asked.mapped ? aliasOf(context, address) : address,
      hostAddress: address,
      byteLength,
      ordinal: context.device.ordinal,
      flags: chosen.map(([name]) => name),
      free,
    };
  } catch (error) {
    free("unused");
    throw error;
  }
}

/** What kernels call memory of the host that is mapped for them (cudaHostGetDevicePointer). */
export function aliasOf(context: CudaContext, host: Address): Address {
  return allocatedBy(context, "cudaHostGetDevicePointer", (out) => cudart().cudaHostGetDevicePointer(out, host, 0));
}
