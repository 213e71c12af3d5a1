import type { Address } from "../../../ffi/address.ts";
import { CL_TRUE } from "../../../ffi/opencl/constants.ts";
import type { Access } from "../../core/memory/access.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import type { Fence } from "../../core/life/fence.ts";
import type { OpenCLContext } from "../context.ts";
import { OpenCLFence } from "../event.ts";
import { newer } from "../library.ts";
import { mapFlags } from "../memory.ts";

/** What is mapped for the host from one address on, and how many maps share it. */
interface LiveMap {
  readonly address: Address;
  byteLength: number;
  sharers: number;
}

/** A range of coarse-grained memory that is mapped for the host. */
export interface SvmRange {
  /** Submits the unmap behind `waits`; answers the fence to wait for, unless another map shares this one. */
  unmap(waits: readonly Fence[]): Fence | undefined;
}

/**
 * The maps of one context's coarse-grained memory. Readers may begin at the same byte; drivers know a map by its address
 * alone and count none of them (Intel's refuses a second unmap), so those share one. For those who write mappers.
 */
export class SvmMaps {
  readonly #context: OpenCLContext;

  /** Made by `cl.svm`. */
  constructor(context: OpenCLContext) {
    this.#context = context;
  }

  /**
   * Maps a range for the host (clEnqueueSVMMap), and blocks until it is: for those who write mappers.
   *
   * @param exact see {@link mapFlags}
   * @throws {AccessError} where it would wait for a user event that is not set.
   * @throws {NativeCallError} clEnqueueSVMMap's.
   */
  map(allocation: Allocation, address: Address, byteLength: number, access: Access, exact = false): SvmRange {
    this.#context.queue.assertUnblocked("a map");
    const live = allocation.attachment<LiveMap[]>(this, () => []);
    let map = live.find((each) => each.address === address);
    if (map === undefined || map.byteLength < byteLength) this.#map(address, byteLength, mapFlags(access, exact));
    if (map === undefined) live.push(map = { address, byteLength, sharers: 0 });
    map.byteLength = Math.max(map.byteLength, byteLength);
    map.sharers++;
    return { unmap: (waits) => this.#unmap(live, map, waits) };
  }

  #map(address: Address, byteLength: number, flags: bigint): void {
    const { queue } = this.#context;
    const enqueue = newer("clEnqueueSVMMap");
    queue.submit(
      "clEnqueueSVMMap",
      [],
      (n, list, event) => enqueue(queue.rawHandle, CL_TRUE, flags, address, BigInt(byteLength), n, list, event),
    );
  }

  #unmap(live: LiveMap[], map: LiveMap, waits: readonly Fence[]): Fence | undefined {
    if (--map.sharers > 0) return undefined;
    live.splice(live.indexOf(map), 1);
    const { queue } = this.#context;
    const enqueue = newer("clEnqueueSVMUnmap");
    const point = queue.submit(
      "clEnqueueSVMUnmap",
      waits,
      (n, list, event) => enqueue(queue.rawHandle, map.address, n, list, event),
    );
    return new OpenCLFence(this.#context, queue, point);
  }
}
