import { type Address, NULL } from "../../../ffi/address.ts";
import { ledger } from "../life/ledger.ts";
import type { Fate } from "../memory/allocation.ts";
import { mappingCount } from "./mapping_count.ts";
import { dropPages, mapPages, PAGE, unmapPages } from "./pages.ts";

const SLAB = 4 << 20;

/** The longest block that a slab can hold. */
export const LONGEST_IN_SLAB: number = 256 << 10;

interface Slab {
  readonly address: Address;
  readonly blockLength: number;
  /** Blocks from here on were never handed out. */
  untouched: number;
  /** Blocks that came back; their pages are zero again. */
  readonly returned: number[];
  /** For each block: 1 if it has an owner, or is kept for good. */
  readonly taken: Uint8Array;
  takenCount: number;
}

const slabs = new Set<Slab>();

/** Slabs with a free block, by the length of their blocks; the oldest is used first. */
const roomy = new Map<number, Set<Slab>>();

/** The one empty slab that is kept for the next block; more would stay mapped when a Worker ends. */
let spare: Slab | undefined;

export interface SlabBlock {
  /** The address of its first byte; it begins a page. */
  readonly address: Address;
  free(fate: Fate): void;
}

/** A zeroed block of whole pages, with at least so many bytes, at most {@link LONGEST_IN_SLAB}. */
export function takeFromSlab(byteLength: number): SlabBlock {
  const blockLength = Math.max(PAGE, 2 ** Math.ceil(Math.log2(byteLength)));
  const slab = roomIn(blockLength).values().next().value ?? newSlab(blockLength);
  const index = slab.returned.pop() ?? slab.untouched++;
  slab.taken[index] = 1;
  if (slab === spare) spare = undefined;
  if (++slab.takenCount === slab.taken.length) roomIn(blockLength).delete(slab);
  const address = (slab.address + BigInt(index * blockLength)) as Address;
  return { address, free: (fate) => free(slab, index, address, fate) };
}

/** Is a byte of this range in a block without an owner? A former owner may still know its address. */
export function isVacant(address: bigint, byteLength: number): boolean {
  for (const slab of slabs) {
    const from = Math.max(0, Number(address - slab.address));
    const to = Math.min(SLAB, Number(address - slab.address) + byteLength);
    for (let i = Math.floor(from / slab.blockLength); i * slab.blockLength < to; i++) {
      if (slab.taken[i] === 0) return true;
    }
  }
  return false;
}

function roomIn(blockLength: number): Set<Slab> {
  let room = roomy.get(blockLength);
  if (room === undefined) roomy.set(blockLength, room = new Set());
  return room;
}

function newSlab(blockLength: number): Slab {
  mappingCount.take(1);
  let address: Address;
  try {
    address = mapPages(NULL, SLAB);
  } catch (error) {
    mappingCount.giveBack(1);
    throw error;
  }
  const taken = new Uint8Array(SLAB / blockLength);
  const slab: Slab = { address, blockLength, untouched: 0, returned: [], taken, takenCount: 0 };
  slabs.add(slab);
  roomIn(blockLength).add(slab);
  return slab;
}

/** A block that may still be in use is never handed out again. */
function free(slab: Slab, index: number, address: Address, fate: Fate): void {
  if (fate === "escaped") return;
  try {
    dropPages(address, slab.blockLength);
  } catch (error) {
    if (fate === "unused") ledger.quarantine(slab.blockLength);
    throw error;
  }
  if (fate === "unknown") return;
  slab.taken[index] = 0;
  slab.takenCount--;
  slab.returned.push(index);
  const room = roomIn(slab.blockLength);
  room.add(slab);
  if (slab.takenCount > 0) return;
  if (spare === undefined) return void (spare = slab);
  room.delete(slab);
  slabs.delete(slab);
  unmapPages(slab.address, SLAB);
  mappingCount.giveBack(1);
}
