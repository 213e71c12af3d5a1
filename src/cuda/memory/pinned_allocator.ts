import { type Names, optionsIn } from "../../core/argument.ts";
import { finalizers } from "../../core/life/finalizers.ts";
import { counted } from "../../core/life/ledger.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import { allOrNothing } from "../../core/life/undo.ts";
import { openingOf } from "../../core/native/library.ts";
import { symbolIn } from "../../guard/load.ts";
import type { CudaPrimaryContext } from "../base.ts";
import { checkRelease } from "../errors.ts";
import { cudart } from "../library.ts";
import { HostPool } from "./host_pool.ts";
import { flagBits, type PinnedFlags, pinnedFlags } from "./pinned_block.ts";

const OPTIONS: Names<PinnedFlags> = { portable: true, mapped: true, writeCombined: true };

/** Pools whose allocator has ended, by context and flags. They are reused, because their code and state are never freed. */
const ended = new Map<string, { readonly pool: HostPool; readonly letGo: (() => void) | undefined }[]>();

function newPool(context: CudaPrimaryContext, flags: number): HostPool {
  const [driver, runtime] = ["cuda", "cudart"].map((api) => openingOf(api)!.path!);
  return new HostPool({
    context: context.cuContext,
    flags,
    calls: {
      cuCtxPushCurrent: symbolIn(driver, "cuCtxPushCurrent_v2"),
      cudaHostAlloc: symbolIn(runtime, "cudaHostAlloc"),
      cuCtxPopCurrent: symbolIn(driver, "cuCtxPopCurrent_v2"),
    },
    free: (made) => context.within(() => checkRelease(cudart().cudaFreeHost(made), "cudaFreeHost")),
  });
}

/** Frees the idle blocks. The device's primary context stays while blocks are in use, because its end would free them. */
function end(pool: HostPool, key: string, letGo: () => void): void {
  let kept: typeof letGo | undefined = letGo;
  try {
    pool.close(() => {
      kept = undefined;
      letGo();
    });
  } finally {
    ended.set(key, [...ended.get(key) ?? [], { pool, letGo: kept }]);
  }
}

/** The bytes that an allocator holds. */
export interface PinnedAllocatorStatistics {
  /** The bytes of blocks in use. */
  readonly lentBytes: number;
  /** The bytes of idle blocks, which are locked too. */
  readonly idleBytes: number;
}

/**
 * Pinned memory for native code: two C functions that any thread may call, `take` and `give`. Made by
 * `cuda.pinned.allocator()`; `cv.defaultAllocator(it)` puts OpenCV's own Mats there.
 *
 * A block's size is a power of two; it begins at a page, and is not initialised. Returned blocks are reused, because locking
 * 33 MB takes 5 to 16 ms. {@link trim} frees the idle ones.
 *
 * The driver chooses its NUMA node, as for all memory of cudaHostAlloc.
 */
export class CudaPinnedAllocator extends NativeObject {
  /** Its end of life, after which `take` has no more blocks. Those in use stay, and are kept for the next such allocator. */
  readonly resource: Resource;
  /** `int take(void **block, size_t alignment, size_t size)`: 0, or ENOMEM if CUDA cannot make a block. */
  readonly take: bigint;
  /** `void give(void *block)`, valid until the process ends. */
  readonly give: bigint;
  readonly #pool: HostPool;

  /** Made by `cuda.pinned.allocator()`. */
  constructor(context: CudaPrimaryContext, options: PinnedFlags) {
    super();
    const flags = flagBits(pinnedFlags(optionsIn(options, OPTIONS)));
    context.resource.assertLive();
    const key = `${context.cuContext} ${flags}`;
    const known = ended.get(key)?.at(-1);
    const letGo = known?.letGo ?? context.keepPrimary();
    const pool = known?.pool ?? allOrNothing("making a pinned allocator", () => newPool(context, flags), [letGo]);
    if (known !== undefined) ended.get(key)!.pop();
    pool.open = true;
    this.#pool = pool;
    this.take = pool.take;
    this.give = pool.give;
    this.resource = new Resource({
      name: `pinned allocator (${context.name})`,
      owners: [context.resource],
      undo: [counted("cuda.pinned_allocator", () => end(pool, key, letGo))],
    });
    finalizers.register(this, this.resource, this);
  }

  /** The bytes that it holds. */
  get statistics(): PinnedAllocatorStatistics {
    return this.#pool.statistics;
  }

  /** Frees the idle blocks (cudaFreeHost), which waits for the device. */
  trim(): void {
    this.resource.assertLive();
    this.#pool.trim();
  }
}
