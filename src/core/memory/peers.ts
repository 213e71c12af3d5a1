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

/** A native object that is told by its kind and handle, and the allocation that its memory is. */
interface Told {
  /** The handle's type in C: handles of one type are not confused with those of another. */
  readonly kind: string;
  readonly handle: bigint;
  readonly allocation: Allocation;
  /** Where it stands in the list. */
  place: number;
}

/** Memory that has no address here. A list: who attaches to such an object looks through it, and nobody else does. */
const told: Told[] = [];

/** The allocation that the memory of a native object is, if samepage knows it: whoever has it is a peer. */
export function findByHandle(kind: string, handle: bigint): Allocation | undefined {
  return told.find((one) => one.handle === handle && one.kind === kind)?.allocation;
}

/** An allocation is the memory of a native object from now on, until it is freed. */
export function tellByHandle(kind: string, handle: bigint, allocation: Allocation): void {
  const one: Told = { kind, handle, allocation, place: told.length };
  told.push(one);
  allocation.beforeFree(() => {
    const last = told.pop()!;
    if (last === one) return;
    told[one.place] = last;
    last.place = one.place;
  });
}
