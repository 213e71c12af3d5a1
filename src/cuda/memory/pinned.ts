import type { Address } from "../../../ffi/address.ts";
import { type Names, object } from "../../core/argument.ts";
import { type Layout, LAYOUT_NAMES, layoutIn, type LayoutInit } from "../../core/layout/layout.ts";
import { checks } from "../check.ts";
import { check } from "../errors.ts";
import { cudart } from "../library.ts";
import { CudaTensor } from "../tensor.ts";
import { cudaBlockOf } from "./block.ts";
import { CudaMemory } from "./memory.ts";
import { CudaPinnedAllocator } from "./pinned_allocator.ts";
import { FLAGS, pinnedBlock, type PinnedFlags, pinnedFlags } from "./pinned_block.ts";
import { CudaPinnedPool, type PinnedPoolOptions } from "./pool.ts";

/** Options of {@link CudaPinned.allocate}. */
export interface PinnedAllocation extends LayoutInit, PinnedFlags {}

const NAMES: Names<PinnedAllocation & Layout> = { ...LAYOUT_NAMES, portable: true, mapped: true, writeCombined: true };

/** Pinned host memory: page-locked, so that devices access it directly. */
export class CudaPinned extends CudaMemory {
  /** The kind of memory. */
  readonly kind = "cuda.pinned";

  /**
   * Allocates uninitialised page-locked host memory (cudaHostAlloc); cudaFreeHost frees it. With
   * `{ portable: false, mapped: false }` it calls cudaMallocHost.
   *
   * @throws {LayoutError} for a wrong shape, dtype or stride.
   * @throws {NativeCallError} if there is too little lockable memory.
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
   * A pool of reusable pinned tensors.
   *
   * @throws {LayoutError} for a wrong length, count or alignment.
   * @throws {NativeCallError} if there is too little lockable memory.
   */
  pool(options: PinnedPoolOptions): CudaPinnedPool {
    return new CudaPinnedPool(this, options);
  }

  /**
   * Pinned memory for native code's own allocations: `cv.defaultAllocator(cuda.pinned.allocator())` puts OpenCV's own Mats
   * there, so that kernels read them in place.
   *
   * @throws {ArgumentError} for anything but flags.
   * @throws {InteropError} on processors other than x86-64.
   * @throws {NativeCallError} if the system allows no machine code.
   *
   * @example
   * ```ts ignore
   * import { CudaContext } from "@samepage/interop/cuda";
   *
   * using cuda = CudaContext.open();
   * using allocator = cuda.pinned.allocator();
   * // int take(void **block, size_t alignment, size_t size); void give(void *block);
   * console.log(allocator.take, allocator.give, allocator.statistics.lentBytes);
   * ```
   */
  allocator(options: PinnedFlags = {}): CudaPinnedAllocator {
    return new CudaPinnedAllocator(this.context, options);
  }

  /**
   * The driver's flags of a tensor's block (cudaHostGetFlags): those of its allocation, and those of all pinned memory of the
   * device.
   *
   * @throws {ArgumentError} for memory of any other kind.
   */
  flagsOf(tensor: CudaTensor): readonly string[] {
    checks.assertInstance(tensor, CudaTensor, "tensor");
    tensor.resource.assertLive();
    const block = cudaBlockOf(tensor.grant.allocation);
    const kind = block?.memory ?? tensor.memory;
    if (kind !== "pinned") throw checks.wrong("tensor", `it is ${kind} memory, and only pinned memory has flags.`);
    const address = (block?.address ?? tensor.hostHandle) as Address;
    const flags = new Uint32Array(1);
    tensor.context.within(() => check(cudart().cudaHostGetFlags(flags, address), "cudaHostGetFlags"));
    return Object.values(FLAGS).filter(([, flag]) => (flags[0] & flag) !== 0).map(([name]) => name);
  }
}
