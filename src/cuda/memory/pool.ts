import { type Names, optionsIn } from "../../core/argument.ts";
import { layout, type LayoutInit, powerOfTwo, whole } from "../../core/layout/layout.ts";
import { finalizers, keepFor } from "../../core/life/finalizers.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import { checks } from "../check.ts";
import type { CudaTensor } from "../tensor.ts";
import { BlockPool, type BlockPoolStatistics } from "./block_pool.ts";
import { ownedTensor } from "./memory.ts";
import type { CudaPinned } from "./pinned.ts";
import { pinnedBlock, type PinnedFlags, pinnedFlags } from "./pinned_block.ts";

/** Options of {@link CudaPinned.pool}. */
export interface PinnedPoolOptions extends PinnedFlags {
  /** The length of the blocks that are made in advance, in bytes; rounded up to a power of two. */
  readonly byteLength: number;
  /** The number of blocks made in advance; 1 by default. */
  readonly count?: number;
  /** The alignment of all tensors in bytes, a power of two; 256 by default. */
  readonly alignment?: number;
  /** The limit of the pool in bytes, blocks in use included; none by default. A block takes its power of two and `alignment`. */
  readonly maxBytes?: number;
}

const OPTIONS: Names<PinnedPoolOptions> = {
  byteLength: true,
  count: true,
  alignment: true,
  maxBytes: true,
  portable: true,
  mapped: true,
  writeCombined: true,
};

/**
 * A pool of reusable pinned tensors, because locking pages takes milliseconds. Block sizes are powers of two, so that a
 * returned block fits later tensors.
 *
 * A block returns after all work on its tensor, unless a view of it was moved away: such a block is never freed. The
 * driver chooses its NUMA node, as for all memory of cudaHostAlloc; `cuda.virtual` with the location `"host"` uses the
 * node next to the device.
 */
export class CudaPinnedPool extends NativeObject {
  /** Its end of life, before which its tensors end. */
  readonly resource: Resource;
  readonly #pinned: CudaPinned;
  readonly #blocks: BlockPool;

  /** Made by `cuda.pinned.pool()`. */
  constructor(pinned: CudaPinned, options: PinnedPoolOptions) {
    super();
    const given = optionsIn(options, OPTIONS);
    const { byteLength, count = 1, alignment = 256, maxBytes = Number.MAX_SAFE_INTEGER } = given;
    const flags = pinnedFlags(given);
    whole(byteLength, "byteLength", 1);
    whole(count, "count", 0);
    powerOfTwo(alignment, "alignment");
    whole(maxBytes, "maxBytes", 1);
    const { context } = pinned;
    context.resource.assertLive();
    this.#pinned = pinned;
    const make = (bytes: number) => pinnedBlock(context, bytes, flags);
    const blocks = this.#blocks = new BlockPool({ make, alignment, maxBytes });
    const needed = count * blocks.bytesOf(byteLength);
    if (needed > maxBytes) {
      throw checks.wrong("maxBytes", `${count} blocks take ${needed} bytes, more than ${maxBytes}.`);
    }
    try {
      for (let i = 0; i < count; i++) blocks.prepare(byteLength);
    } catch (error) {
      blocks.close();
      throw error;
    }
    const name = `cuda pinned pool (${context.name})`;
    this.resource = new Resource({ name, owners: [context.resource], undo: [() => blocks.close()] });
    finalizers.register(this, this.resource, this);
  }

  /** Its contents and use. */
  get statistics(): BlockPoolStatistics {
    return this.#blocks.statistics;
  }

  /**
   * Takes a tensor of pinned memory, with the bytes of the last one still in it. Its dispose returns the block.
   *
   * @throws {LayoutError} for a wrong shape, dtype or stride.
   * @throws {AccessError} if the pool would hold more than `maxBytes`.
   * @throws {NativeCallError} if CUDA cannot make a block that is needed.
   *
   * @example
   * ```ts ignore
   * import { CudaContext } from "@samepage/interop/cuda";
   *
   * using cuda = CudaContext.open();
   * using pool = cuda.pinned.pool({ byteLength: 1920 * 1080 * 4, count: 3 });
   * for (let i = 0; i < 100; i++) {
   *   using frame = pool.take({ shape: [1080, 1920, 4], dtype: "u8" });
   *   cuda.stream.fill(frame, i);
   * }
   * console.log(pool.statistics.made); // 3
   * ```
   */
  take(init: LayoutInit): CudaTensor {
    const at = layout(init);
    this.resource.assertLive();
    const block = this.#blocks.take(at.byteOffset + at.byteLength);
    const tensor = ownedTensor(this.#pinned, block, at, { owners: [this.resource] });
    keepFor(tensor, this);
    return tensor;
  }

  /** Frees the blocks that are not in use. */
  trim(): void {
    this.resource.assertLive();
    this.#blocks.trim();
  }
}
