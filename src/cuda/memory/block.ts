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
  | "external"
  | "peer";

/** A block that CUDA allocated. Its `address` is the host address if the CPU may use it, else the device's. */
export interface CudaBlock extends Block {
  /** The kind of memory. */
  readonly memory: CudaMemoryKind;
  /** Its address for kernels. */
  readonly deviceAddress: Address;
  /** Its address for the host, if the host reaches it. */
  readonly hostAddress: Address | undefined;
  /** The ordinal of its device. */
  readonly ordinal: number;
  /** Its flags, by CUDA's names. */
  readonly flags: readonly string[];
}

export function cudaBlockOf({ block }: Allocation): CudaBlock | undefined {
  return block.kind.startsWith("cuda.") && "deviceAddress" in block ? block as CudaBlock : undefined;
}

/** True for memory of a pool, which has no IPC handle, and whose peer access is the pool's. */
export function isPooled(allocation: Allocation): boolean {
  return cudaBlockOf(allocation)?.flags.some((flag) => /^cudaMalloc.*Async$/.test(flag)) ?? false;
}
