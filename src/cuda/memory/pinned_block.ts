import {
  cudaHostAllocDefault,
  cudaHostAllocMapped,
  cudaHostAllocPortable,
  cudaHostAllocWriteCombined,
} from "../../../ffi/cuda_runtime/constants.ts";
import type { Address } from "../../../ffi/address.ts";
import { checks } from "../check.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { cudart } from "../library.ts";
import { allocatedBy, freeHost } from "./allocate.ts";
import type { CudaBlock } from "./block.ts";

/**
 * The flags of cudaHostAlloc. Without any (`portable` and `mapped` false) cudaMallocHost is called instead. With unified
 * addressing all pinned memory is portable and mapped.
 */
export interface PinnedFlags {
  /** True if it is pinned for all devices (cudaHostAllocPortable). True by default. */
  readonly portable?: boolean;
  /** True if kernels reach it (cudaHostAllocMapped). True by default. */
  readonly mapped?: boolean;
  /** True if the CPU does not cache it (cudaHostAllocWriteCombined), and so reads it very slowly. False by default. */
  readonly writeCombined?: boolean;
}

export const FLAGS = {
  portable: ["cudaHostAllocPortable", cudaHostAllocPortable],
  mapped: ["cudaHostAllocMapped", cudaHostAllocMapped],
  writeCombined: ["cudaHostAllocWriteCombined", cudaHostAllocWriteCombined],
} as const;

export function pinnedFlags(given: PinnedFlags): Required<PinnedFlags> {
  const { portable = true, mapped = true, writeCombined = false } = given;
  const flags = { portable, mapped, writeCombined };
  checks.assertBooleans(flags);
  return flags;
}

/** The bits for cudaHostAlloc. */
export function flagBits(asked: Required<PinnedFlags>): number {
  const chosen = Object.entries(FLAGS).filter(([name]) => asked[name as keyof typeof FLAGS]);
  return chosen.reduce((bits, [, [, bit]]) => bits | bit, cudaHostAllocDefault);
}

export function pinnedBlock(
  context: CudaPrimaryContext,
  byteLength: number,
  asked: Required<PinnedFlags>,
): CudaBlock & { readonly address: Address } {
  const flags = flagBits(asked);
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
      flags: Object.values(FLAGS).filter(([, bit]) => (flags & bit) !== 0).map(([name]) => name),
      free,
    };
  } catch (error) {
    free("unused");
    throw error;
  }
}

/** The device address of host memory that is mapped for kernels (cudaHostGetDevicePointer). */
export function aliasOf(context: CudaPrimaryContext, host: Address): Address {
  return allocatedBy(context, "cudaHostGetDevicePointer", (out) => cudart().cudaHostGetDevicePointer(out, host, 0));
}
