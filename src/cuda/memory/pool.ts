import { type Names, optionsIn } from "../../core/argument.ts";
import { layout, type LayoutInit, powerOfTwo, whole } from "../../core/layout/layout.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import { checks } from "../check.ts";
import type { CudaTensor } from "../tensor.ts";
import { BlockPool, type BlockPoolStatistics } from "./block_pool.ts";
import { ownedTensor } from "./memory.ts";
import type { CudaPinned } from "./pinned.ts";
import { pinnedBlock, type PinnedFlags, pinnedFlags } from "./pinned_block.ts";

/** How a pool of pinned memory is made. */
export interface PinnedPoolOptions extends PinnedFlags {
  /** The bytes of the blocks that are made in advance; they are rounded up to a power of two. */
  readonly byteLength: number;
  /** How many of them are made in advance; 1 by default. */
  readonly count?: number;
  /** What the address of every tensor is a multiple of, in bytes: a power of two. 256 by default. */
  readonly alignment?: number;
  /**
   * The most bytes that the pool holds, those handed out included; no limit by default. A block takes its power of two and
   * `alignment`.
   */
  readonly mostBytes?: number;
}

const OPTIONS: Names<PinnedPoolOptions> = {
  byteLength: true,
  count: true,
  alignment: true,
  mostBytes: true,
  portable: true,
  mapped: true,
  writeCombined: true,
};

/**
 * Pinned tensors that are handed out and come back: locking pages takes milliseconds, and taking a block that is locked
 * already none. Blocks have the size of powers of two, so that what comes back fits what is asked for next.
 *
 * A block comes back when its tensor has ended: after all work on it, and only where no view of it was moved away (it is
 * dropped then, and kept for good). On which NUMA node of the host it lies is the driver's choice, as it is for all that
 * cudaHostAlloc makes; `cuda.virtual` with the location `"host"` makes memory on the node that is next to the device.
 */
export class CudaPinnedPool extends NativeObject {
  /** Its end of life: the tensors that were taken of it end first. */
  readonly resource: Resource;
  readonly #pinned: CudaPinned;
  readonly #blocks: BlockPool;

  /** Made by `cuda.pinned.pool()`. */
  constructor(pinned: CudaPinned, options: PinnedPoolOptions) {
    super();
    const given = optionsIn(options, OPTIONS);
    const { byteLength, count = 1, alignment = 256, mostBytes = Number.MAX_SAFE_INTEGER } = given;
    const flags = pinnedFlags(given);
    whole(byteLength, "byteLength", 1);
    whole(count, "count", 0);
    powerOfTwo(alignment, "alignment");
    whole(mostBytes, "mostBytes", 1);
    const { context } = pinned;
    context.resource.assertLive();
    this.#pinned = pinned;
    const make = (bytes: number) => pinnedBlock(context, bytes, flags);
    const blocks = this.#blocks = new BlockPool({ make, alignment, mostBytes });
    const needed = count * blocks.bytesOf(byteLength);
    if (needed > mostBytes) {
      throw checks.wrong("mostBytes", `${count} blocks take ${needed} bytes, more than ${mostBytes}.`);
    }
    try {
      for (let i = 0; i < count; i++) blocks.prepare(byteLength);
    } catch (error) {
      blocks.close();
      throw error;
    }
    const name = `cuda pinned pool (${context.name})`;
    this.resource = new Resource({ name, owners: [context.resource], undo: [() => blocks.close()] });
  }

  /** What it holds, and how often a block was there when it was asked for. */
  get statistics(): BlockPoolStatistics {
    return this.#blocks.statistics;
  }

  /**
   * Hands out a tensor of pinned memory, with whatever the last one has left in it; its dispose gives the block back.
   *
   * @throws {LayoutError} for a wrong shape, dtype or stride.
   * @throws {AccessError} where the pool would hold more than `mostBytes`.
   * @throws {NativeCallError} where a block has to be made and cannot.
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
    return ownedTensor(this.#pinned, block, at, { owners: [this.resource] });
  }

  /** Frees the blocks that are not handed out. */
  trim(): void {
    this.resource.assertLive();
    this.#blocks.trim();
  }
}
