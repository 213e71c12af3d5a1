import type { Address } from "../../../ffi/address.ts";
import type { Allocation, Block } from "../../core/memory/allocation.ts";

/** The kinds of memory that kernels reach; see `CUDA_MEMORY` for the rules of each. */
export type CudaMemoryKind =
  | "device"
  | "pinned"
  | "registered"
  | "managed"
  | "virtual"
  | "pageable"
  | "imported"
  | "peer";

/** A block that CUDA has allocated. Its `address` is the host's, where the CPU may use that; else the device's. */
export interface CudaBlock extends Block {
  /** What kind of memory it is. */
  readonly memory: CudaMemoryKind;
  /** What kernels call its first byte. */
  readonly deviceAddress: Address;
  /** What the host calls it, where it can reach it. */
  readonly hostAddress: Address | undefined;
  /** The ordinal of the device that it was allocated on. */
  readonly ordinal: number;
  /** The flags that it was made with, by CUDA's names. */
  readonly flags: readonly string[];
}

/** The block of an allocation that CUDA has made; undefined for other memory. */
export function cudaBlockOf({ block }: Allocation): CudaBlock | undefined {
  return block.kind.startsWith("cuda.") && "deviceAddress" in block ? block as CudaBlock : undefined;
}

/** Is it memory of a pool, which has no handle of its own, and to which peer access is the pool's matter? */
export function isPooled(allocation: Allocation): boolean {
  return cudaBlockOf(allocation)?.flags.some((flag) => /^cudaMalloc.*Async$/.test(flag)) ?? false;
}
