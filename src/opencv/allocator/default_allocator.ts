import type { Address } from "../../../ffi/address.ts";
import { counted } from "../../core/life/ledger.ts";
import { NativeObject } from "../../core/life/native_object.ts";
import { Resource } from "../../core/life/resource.ts";
import { alone } from "../../core/native/process_lock.ts";
import type { OpenCVBase } from "../base.ts";
import { core } from "../library.ts";
import { addressIn } from "../memory.ts";
import { type AllocatorClass, allocatorClass, type Blocks } from "./native.ts";
import { allocatorAt, type AllocatorObject, makeAllocator } from "./object.ts";

/**
 * The source of Mats' memory: two C functions, which OpenCV calls from any thread, even while the program's own thread waits.
 * So neither may be a JavaScript callback (`Deno.UnsafeCallback`).
 */
export interface MatMemory {
  /**
   * `int take(void **block, size_t alignment, size_t size)`, like posix_memalign: 0, or any other number if there is no block.
   * The alignment is 4096, and the size a multiple of 64.
   */
  readonly take: bigint | Deno.PointerValue;
  /** `void give(void *block)`, like free; called once for each block, by any thread, perhaps after the allocator's end. */
  readonly give: bigint | Deno.PointerValue;
  /** The end of life of the memory behind the functions, before which the default allocator ends. */
  readonly resource?: Resource;
}

/**
 * While it lives, the Mats that OpenCV itself creates lie in its memory, at a multiple of 4096, with a multiple of 64 bytes.
 * After the last holder's end, OpenCV has its previous default again; Mats that were made meanwhile stay.
 * Made by {@link OpenCVContext.defaultAllocator} and {@link OpenCVContext.pageAllocator}.
 */
export class DefaultAllocator extends NativeObject {
  /** The `cv::MatAllocator*`. It stays valid to the end of the process, also as the `allocator` of a single Mat. */
  readonly address: Address;
  /** Its end of life. */
  readonly resource: Resource;

  /** Made by the context. */
  constructor(context: OpenCVBase, blocks: Blocks, owner?: Resource) {
    super();
    const of = allocatorClass(blocks);
    const object = holdDefault(of);
    this.address = object.address;
    this.resource = new Resource({
      name: "OpenCV's default allocator",
      undo: [counted("opencv.allocator", () => leaveDefault(object, of))],
      owners: [context.resource, owner],
    });
  }
}

/** @throws {ArgumentError} for anything but two addresses. */
export function blocksOf({ take, give }: MatMemory): Blocks {
  return { take: addressIn(take, "take"), give: addressIn(give, "give") };
}

/** The allocators of this isolate without a holder, which are reused and never freed. */
const idle = new Map<AllocatorClass, AllocatorObject[]>();

/** Adds a holder to an allocator of a class, and makes it OpenCV's default if it is not yet. */
function holdDefault(of: AllocatorClass): AllocatorObject {
  return alone(() => {
    const previous = core().Mat_getDefaultAllocator();
    const known = allocatorAt(previous);
    if (known?.isOf(of)) {
      known.holders++;
      return known;
    }
    const object = idle.get(of)?.pop() ?? makeAllocator(of);
    object.previous = previous;
    core().Mat_setDefaultAllocator(object.address);
    object.holders = 1;
    return object;
  });
}

/** Removes a holder. The last one restores the previous default, unless another one was set since. */
function leaveDefault(object: AllocatorObject, of: AllocatorClass): void {
  alone(() => {
    if (--object.holders > 0) return;
    if (core().Mat_getDefaultAllocator() !== object.address) return; // the setter may restore ours later
    core().Mat_setDefaultAllocator(previousOf(object));
    idle.set(of, [...idle.get(of) ?? [], object]);
  });
}

/** The previous default, without allocators of ours that have no holders any more. */
function previousOf({ previous }: AllocatorObject): Address {
  const known = allocatorAt(previous);
  return known?.holders === 0 ? previousOf(known) : previous;
}
