import type { Address } from "../../../ffi/address.ts";
import { CL_TRUE } from "../../../ffi/opencl/constants.ts";
import type { Access } from "../../core/memory/access.ts";
import type { Allocation } from "../../core/memory/allocation.ts";
import type { Call } from "../../core/contract.ts";
import type { BaseContext } from "../base_context.ts";
import type { ClLane } from "../lane.ts";
import { newer } from "../library.ts";
import { mapFlags, MappedRange } from "../buffers/native.ts";

/** A range mapped for the host, and the number of maps that share it. */
interface LiveMap {
  readonly address: Address;
  byteLength: number;
  sharers: number;
}

/**
 * The maps of one context's coarse-grained memory. Drivers know a map by its address and do not count maps (Intel's
 * refuses a second unmap), so readers that begin at the same byte share one. For mappers.
 */
export class SvmMaps {
  readonly #context: Pick<BaseContext, "queue">;

  /** Made by `cl.svm`. */
  constructor(context: Pick<BaseContext, "queue">) {
    this.#context = context;
  }

  /**
   * Maps a range for the host (clEnqueueSVMMap); blocks. For mappers.
   *
   * @param exact see {@link mapFlags}
   * @throws {AccessError} if it would wait for an unsettled promise.
   * @throws {NativeCallError} clEnqueueSVMMap's.
   */
  map(allocation: Allocation, address: Address, byteLength: number, access: Access, exact = false): MappedRange {
    const { line } = this.#context.queue;
    const live = allocation.attachment<LiveMap[]>(this, () => []);
    let map = live.find((each) => each.address === address);
    if (map === undefined || map.byteLength < byteLength) {
      line.submitRaw(mapCall(address, byteLength, mapFlags(access, exact)));
    }
    if (map === undefined) live.push(map = { address, byteLength, sharers: 0 });
    map.byteLength = Math.max(map.byteLength, byteLength);
    map.sharers++;
    return new MappedRange(line, address, () => unmapCall(live, map));
  }
}

function mapCall(address: Address, byteLength: number, flags: bigint): Call<ClLane> {
  const enqueue = newer("clEnqueueSVMMap");
  return {
    fn: "clEnqueueSVMMap",
    blocks: true,
    call: ({ queue, waitCount, waitList, slot }) =>
      enqueue(queue, CL_TRUE, flags, address, BigInt(byteLength), waitCount, waitList, slot),
  };
}

function unmapCall(live: LiveMap[], map: LiveMap): Call<ClLane> | undefined {
  if (--map.sharers > 0) return undefined;
  live.splice(live.indexOf(map), 1);
  const enqueue = newer("clEnqueueSVMUnmap");
  return {
    fn: "clEnqueueSVMUnmap",
    call: ({ queue, waitCount, waitList, slot }) => enqueue(queue, map.address, waitCount, waitList, slot),
  };
}
