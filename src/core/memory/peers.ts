import { AddressIndex } from "./address_index.ts";
import type { Allocation, Closed } from "./allocation.ts";

/** Allocations of this isolate by host address, whichever API made them: tensors over the same bytes find each other here. */
const index = new AddressIndex();

/** The allocation that shares a byte with a range of host addresses, if samepage knows one. */
export function findAllocation(address: bigint, byteLength: number): Allocation | undefined {
  return index.overlapping(address, byteLength);
}

/** Host addresses at which a driver shows memory that has none of its own, for as long as it is mapped. */
interface Shown {
  readonly address: bigint;
  readonly byteLength: number;
  /** Whose memory it is, in words. */
  readonly of: string;
  /** Where it stands in the list. */
  place: number;
}

/** A list: who takes memory over by its address looks through it, and nobody else does. */
const shown: Shown[] = [];

/** A driver shows memory at an address from now on, until the answered function is called. */
export function showAt(address: bigint, byteLength: number, of: string): () => void {
  const one: Shown = { address, byteLength, of, place: shown.length };
  shown.push(one);
  return () => takeOut(shown, one);
}

/** Why memory may not be taken over by its address alone, where samepage knows that. */
export function closedAt(address: bigint, byteLength: number): Closed | undefined {
  const closed = findAllocation(address, byteLength)?.block.closed;
  if (closed !== undefined) return closed;
  const one = shown.find((one) =>
    one.address < address + BigInt(byteLength) && address < one.address + BigInt(one.byteLength)
  );
  if (one === undefined) return undefined;
  return {
    reason: `it is memory of ${one.of} that is mapped for the host: the address ends with that map.`,
    remedy: "Use the tensor of that map, or slice it.",
  };
}

/** One more tensor or frame owns the bytes of an allocation. Where that has an address, it is found by it. */
export function join(allocation: Allocation): void {
  if (allocation.peers === 0 && allocation.block.address !== undefined) index.add(allocation);
  allocation.join();
}

/** One less; the last one gives the memory back. */
export function leave(allocation: Allocation): void {
  if (allocation.peers === 1 && allocation.block.address !== undefined) index.remove(allocation);
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
  allocation.beforeFree(() => takeOut(told, one));
}

/** Takes one out of a list; the last takes its place. */
export function takeOut<T extends { place: number }>(list: T[], one: T): void {
  const last = list.pop()!;
  if (last === one) return;
  list[one.place] = last;
  last.place = one.place;
}
