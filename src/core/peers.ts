import { AddressIndex } from "./address_index.ts";
import type { Allocation } from "./allocation.ts";

/** Allocations of this isolate by host address, whichever API made them: tensors over the same bytes find each other here. */
const index = new AddressIndex();

/** The allocation that shares a byte with a range of host addresses, if samepage knows one. */
export function findAllocation(address: bigint, byteLength: number): Allocation | undefined {
  return index.overlapping(address, byteLength);
}

/** One more tensor or frame owns the bytes of an allocation that has an address. */
export function join(allocation: Allocation): void {
  if (allocation.peers === 0) index.add(allocation);
  allocation.join();
}

/** One less; the last one gives the memory back. */
export function leave(allocation: Allocation): void {
  if (allocation.peers === 1) index.remove(allocation);
  allocation.leave();
}
