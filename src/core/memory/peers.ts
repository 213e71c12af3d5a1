import { asNumber } from "../../../ffi/address.ts";
import type { Allocation, Closed } from "./allocation.ts";

/** What is known by native handles. A kind says what a handle is unique among: its type in C, and its device if need be. */
export class ByHandle<T> {
  readonly #kinds = new Map<string, Map<bigint, T[]>>();

  all(kind: string, handle: bigint): readonly T[] {
    return this.#kinds.get(kind)?.get(handle) ?? [];
  }

  /** The oldest of them. */
  find(kind: string, handle: bigint): T | undefined {
    return this.#kinds.get(kind)?.get(handle)?.[0];
  }

  /** Makes something known, until the returned function is called. */
  add(kind: string, handle: bigint, one: T): () => void {
    const handles = this.#kinds.get(kind) ?? new Map<bigint, T[]>();
    this.#kinds.set(kind, handles);
    const all = handles.get(handle) ?? [];
    handles.set(handle, all);
    all.push(one);
    return () => {
      const at = all.indexOf(one);
      if (at < 0) return;
      all.splice(at, 1);
      if (all.length === 0) handles.delete(handle);
      if (handles.size === 0) this.#kinds.delete(kind);
    };
  }
}

/** Entries to a chunk; a chunk that grows past it is split. */
const CHUNK = 512;

/**
 * The allocations of this isolate by host address, in sorted chunks: with 100,000 live blocks an operation costs a binary
 * search and one short move. (A big Map whose keys come and go measured 20–40 µs an operation.)
 */
export class AddressIndex {
  readonly #chunks: [first: Allocation[], ...Allocation[][]] = [[]];

  add(allocation: Allocation): void {
    const { at: start } = allocation;
    const at = this.#chunkFor(start);
    const chunk = this.#chunks[at];
    insertAt(chunk, lowerBound(chunk, start), allocation);
    if (chunk.length > CHUNK) this.#chunks.splice(at + 1, 0, chunk.splice(CHUNK / 2));
  }

  remove(allocation: Allocation): void {
    const { at: start } = allocation;
    const at = this.#chunkFor(start);
    const chunk = this.#chunks[at];
    const index = lowerBound(chunk, start);
    if (chunk[index] !== allocation) return;
    removeAt(chunk, index);
    if (chunk.length === 0 && this.#chunks.length > 1) this.#chunks.splice(at, 1); // the last one stays, for the next
  }

  overlapping(address: bigint, byteLength: number): Allocation | undefined {
    const start = asNumber(address);
    for (let at = this.#chunkFor(start); at < this.#chunks.length; at++) {
      const chunk = this.#chunks[at];
      // The one before the bound may reach into the range; later ones may begin in it.
      for (let i = Math.max(0, lowerBound(chunk, start) - 1); i < chunk.length; i++) {
        if (chunk[i].at >= start + byteLength) return undefined;
        if (chunk[i].at + chunk[i].block.byteLength > start) return chunk[i];
      }
    }
    return undefined;
  }

  #chunkFor(start: number): number {
    let low = 1; // the first one begins with the lowest address there is
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#chunks[middle][0].at <= start) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

function lowerBound(chunk: readonly Allocation[], start: number): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (chunk[middle].at < start) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Instead of splice(), which makes an array of what it takes out: that takes longer than moving a chunk. */
function insertAt(chunk: Allocation[], at: number, one: Allocation): void {
  chunk.push(one);
  for (let i = chunk.length - 1; i > at; i--) chunk[i] = chunk[i - 1];
  chunk[at] = one;
}

function removeAt(chunk: Allocation[], at: number): void {
  for (let i = at + 1; i < chunk.length; i++) chunk[i - 1] = chunk[i];
  chunk.pop();
}

/** The allocations of this isolate by host address, of all APIs: tensors over the same bytes find each other here. */
const index = new AddressIndex();

export function findAllocation(address: bigint, byteLength: number): Allocation | undefined {
  return index.overlapping(address, byteLength);
}

/** Host addresses at which a driver shows memory while it is mapped. */
interface Shown {
  readonly address: bigint;
  readonly byteLength: number;
  readonly of: string;
  place: number;
}

/** A list is enough: only a takeover of memory by its address searches it. */
const shown: Shown[] = [];

/** Notes that a driver shows memory at an address, until the returned function is called. */
export function showAt(address: bigint, byteLength: number, of: string): () => void {
  const one: Shown = { address, byteLength, of, place: shown.length };
  shown.push(one);
  return () => takeOut(shown, one);
}

/** Why memory may not be taken over by its address; undefined if samepage knows no reason. */
export function closedAt(
  address: bigint,
  byteLength: number,
  known: Allocation | undefined = findAllocation(address, byteLength),
): Closed | undefined {
  if (known?.block.closed !== undefined) return known.block.closed;
  if (shown.length === 0) return undefined;
  const one = shown.find((one) =>
    one.address < address + BigInt(byteLength) && address < one.address + BigInt(one.byteLength)
  );
  if (one === undefined) return undefined;
  return {
    reason: `it is memory of ${one.of} that is mapped for the host: the address ends with that map.`,
    remedy: "Use the tensor of that map, or slice it.",
  };
}

/** Adds an owner of an allocation. The first one makes it known by its address, if it has one. */
export function join(allocation: Allocation): void {
  if (allocation.peers === 0 && allocation.block.address !== undefined) index.add(allocation);
  allocation.join();
}

/** Removes an owner; the last one frees the memory. */
export function leave(allocation: Allocation): void {
  if (allocation.peers === 1 && allocation.block.address !== undefined) index.remove(allocation);
  allocation.leave();
}

/** Where a native object's memory lies. */
export interface Place {
  /** The block. */
  readonly allocation: Allocation;
  /** Where the object's first byte lies in the block. */
  readonly start: number;
  /** True if it is known until the block is freed. */
  readonly lasts: boolean;
}

/** `kind` is the handle's type in C, or the kind of a port: handles of different kinds may be equal. */
const places = new ByHandle<Place>();

/**
 * The allocation that a native object is all of, if samepage knows it.
 *
 * @see {@link findPlace} for an object that may be a part of one.
 */
export function findByHandle(kind: string, handle: bigint): Allocation | undefined {
  return findPlace(kind, handle)?.allocation;
}

export function findPlace(kind: string, handle: bigint): Place | undefined {
  return places.find(kind, handle);
}

/**
 * Makes an allocation known by a native object's handle, until it is freed: of an object that is the allocation's own, or
 * that others can bring back, because an fd of it has left. Once is enough.
 */
export function registerByHandle(kind: string, handle: bigint, allocation: Allocation, start: number = 0): void {
  if (places.all(kind, handle).some((one) => one.lasts && one.allocation === allocation)) return;
  allocation.beforeFree(places.add(kind, handle, { allocation, start, lasts: true }));
}

/** Makes a part of an allocation known by a native object's handle, until the returned function is called. */
export function registerPlace(kind: string, handle: bigint, allocation: Allocation, start: number): () => void {
  return places.add(kind, handle, { allocation, start, lasts: false });
}

export function takeOut<T extends { place: number }>(list: T[], one: T): void {
  const last = list.pop()!;
  if (last === one) return;
  list[one.place] = last;
  last.place = one.place;
}
