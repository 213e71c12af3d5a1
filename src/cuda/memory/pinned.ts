import type { Address } from "../../../ffi/address.ts";
import { type Names, object } from "../../core/argument.ts";
import { type Layout, LAYOUT_NAMES, layoutIn, type LayoutInit } from "../../core/layout/layout.ts";
import { checks } from "../check.ts";
import { check } from "../errors.ts";
import { cudart } from "../library.ts";
import { CudaTensor } from "../tensor.ts";
import { cudaBlockOf } from "./block.ts";
import { CudaMemory } from "./memory.ts";
import { FLAGS, pinnedBlock, type PinnedFlags, pinnedFlags } from "./pinned_block.ts";
import { CudaPinnedPool, type PinnedPoolOptions } from "./pool.ts";

/** How pinned memory is allocated. */
export interface PinnedAllocation extends LayoutInit, PinnedFlags {}

const NAMES: Names<PinnedAllocation & Layout> = { ...LAYOUT_NAMES, portable: true, mapped: true, writeCombined: true };

/** Pinned memory of the host: page-locked, so that devices reach it, or copy it, without the driver's help. */
export class CudaPinned extends CudaMemory {
  /** The kind of memory. */
  readonly kind = "cuda.pinned";

  /**
   * Allocates page-locked memory of the host (cudaHostAlloc), not initialised; it is freed by cudaFreeHost. With
   * `{ portable: false, mapped: false }` it is what cudaMallocHost makes.
   *
   * @throws {LayoutError} for a wrong shape, dtype or stride.
   * @throws {NativeCallError} where there is not enough memory that can be locked.
   *
   * @example
   * ```ts ignore
   * import { host, MapperGraph } from "@samepage/interop";
   * import { CudaContext } from "@samepage/interop/cuda";
   *
   * using cuda = CudaContext.open();
   * using graph = new MapperGraph([host, cuda]);
   * using frame = cuda.pinned.allocate({ shape: [1080, 1920, 4], dtype: "u8" });
   * using view = graph.map(frame, host);
   * view.bytes().fill(255);
   * ```
   */
  allocate(init: PinnedAllocation): CudaTensor {
    const flags = pinnedFlags(object(init, "init"));
    const at = layoutIn(init, NAMES);
    this.context.resource.assertLive();
    return this.own(pinnedBlock(this.context, at.byteOffset + at.byteLength, flags), at);
  }

  /**
   * A pool of pinned tensors that are handed out and come back.
   *
   * @throws {LayoutError} for lengths, counts or an alignment that are none.
   * @throws {NativeCallError} where there is not enough memory that can be locked.
   */
  pool(options: PinnedPoolOptions): CudaPinnedPool {
    return new CudaPinnedPool(this, options);
  }

  /**
   * The flags of a tensor's block, as the driver tells them (cudaHostGetFlags): those that it was made with, and those that
   * all of a device's pinned memory has.
   *
   * @throws {ArgumentError} for memory of any other kind.
   */
  flagsOf(tensor: CudaTensor): readonly string[] {
    checks.assertInstance(tensor, CudaTensor, "tensor");
    tensor.resource.assertLive();
    const block = cudaBlockOf(tensor.grant.allocation);
    if (block?.memory !== "pinned") {
      const kind = block?.memory ?? tensor.memory;
      throw checks.wrong("tensor", `it is ${kind} memory, and only pinned memory has flags.`);
    }
    const flags = new Uint32Array(1);
    tensor.context.within(() => check(cudart().cudaHostGetFlags(flags, block.address as Address), "cudaHostGetFlags"));
    return Object.values(FLAGS).filter(([, flag]) => (flags[0] & flag) !== 0).map(([name]) => name);
  }
}
