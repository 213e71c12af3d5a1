import { type Address, asNumber, NULL } from "../../../ffi/address.ts";
import { InteropError } from "../errors.ts";
import type { Block, Fate } from "../memory/allocation.ts";
import { type Undo, undoAll, undone } from "../life/undo.ts";
import { createMemfd, type Memfd } from "./memfd.ts";
import { mappingCount } from "./mappings.ts";
import {
  MADV_DONTNEED,
  MADV_HUGEPAGE,
  MAP_ANONYMOUS,
  MAP_FIXED,
  MAP_NORESERVE,
  MAP_PRIVATE,
  MAP_SHARED,
  PROT_NONE,
  PROT_READ,
  PROT_WRITE,
} from "../../../ffi/libc/constants.ts";
import { EINVAL, ENOMEM } from "../../../ffi/libc/errors.ts";
import { ledger } from "../life/ledger.ts";
import { libc, libcError } from "./libc.ts";

/** The page size of every Linux that this runs on: x86-64, and aarch64 as Debian and Tegra build it. */
export const PAGE = 4096;

/** False until the kernel's pages were compared with it. x86-64 has no others. */
let isPageSizeKnown = Deno.build.arch === "x86_64";

/** @throws {InteropError} on a kernel with larger pages, as some for aarch64 have. */
function assertPageSize(): void {
  const size = libc().getpagesize();
  isPageSizeKnown = size === PAGE;
  if (isPageSizeKnown) return;
  throw new InteropError(`This kernel has pages of ${size} bytes, and samepage needs pages of ${PAGE}.`, {
    api: "host",
    fn: "getpagesize",
    hint: "Boot a kernel that was built with pages of 4 KiB, as Debian's is.",
  });
}

const MAP_FAILED = 0xffff_ffff_ffff_ffffn;

/** Maps readable and writable pages, of a memfd from `offset` or anonymous, at `address` unless that is null. */
export function mapPages(address: Address, byteLength: number, fd?: number, offset: number = 0): Address {
  const fixed = address === NULL ? 0 : MAP_FIXED;
  const kind = fd === undefined ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  return map(address, byteLength, PROT_READ | PROT_WRITE, kind | fixed, fd ?? -1, offset);
}

/**
 * Asks for huge pages behind anonymous memory: CUDA locks 33 MB of them in 1.4 ms, and 8,100 small pages in 2.0 ms. A
 * failure does no harm: a kernel without them refuses (EINVAL), and the memory works with small pages.
 */
function adviseHugePages(address: Address, byteLength: number): void {
  if (libc().madvise(address, BigInt(byteLength), MADV_HUGEPAGE) === 0) return;
  const error = libcError("madvise");
  if (error.code !== EINVAL && error.code !== ENOMEM) throw error;
}

/** Maps pages of a memfd that may only be read, from `offset`: a write to them ends the process. */
export function mapReadOnlyPages(byteLength: number, fd: number, shared: boolean, offset: number = 0): Address {
  return map(NULL, byteLength, PROT_READ, shared ? MAP_SHARED : MAP_PRIVATE, fd, offset);
}

export function reservePages(byteLength: number): Address {
  return map(NULL, byteLength, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/** Gives pages and addresses back. If that fails, the ledger counts them as quarantined. */
export function unmapPages(address: Address, byteLength: number): void {
  if (libc().munmap(address, BigInt(byteLength)) === 0) return;
  const error = libcError("munmap");
  ledger.quarantine(byteLength);
  throw error;
}

/** Gives anonymous pages back and keeps their addresses: the next read finds zeros. */
function dropPages(address: Address, byteLength: number): void {
  if (libc().madvise(address, BigInt(byteLength), MADV_DONTNEED) === 0) return;
  const error = libcError("madvise");
  if (error.code !== EINVAL) throw error;
  mapPages(address, byteLength); // the program has locked them (mlockall): fresh pages replace them
}

function map(
  address: Address,
  byteLength: number,
  protection: number,
  flags: number,
  fd: number,
  offset: number,
): Address {
  if (!isPageSizeKnown) assertPageSize();
  const mapped = libc().mmap(address, BigInt(byteLength), protection, flags, fd, BigInt(offset));
  if (mapped === MAP_FAILED) throw libcError("mmap", `The request was for ${byteLength} bytes.`);
  return mapped;
}

/** Lengths of blocks are multiples of this: a cache line, and what GPUs that share the CPU's memory want. */
export const LENGTH_MULTIPLE = 64;

export interface MappedBlock extends Block {
  readonly address: Address;
  /** Where the requested bytes begin in it: 0, unless they end at a guard page. */
  readonly start: number;
  /** The file that it is; undefined for anonymous memory. */
  readonly memfd?: Memfd;
}

export interface BlockInit {
  /** Bytes: rounded up to a multiple of 64. */
  readonly byteLength: number;
  /** The requested bytes begin at a multiple of this power of two. */
  readonly align: number;
  /** Puts it in a memfd, so that other processes and APIs can map it. */
  readonly sharable: boolean;
  /** Adds an inaccessible page after its end; the bytes end there, as far as `align` allows. */
  readonly guard: boolean;
}

/**
 * Makes a block of zeroed memory. Small blocks share a mapping (see slabs.ts), because a process may have only so many;
 * a block that is aligned beyond a page, sharable or guarded has its own.
 * @throws {ArgumentError} if there are too many mappings already.
 * @throws {NativeCallError} ENOMEM if memory runs out, EMFILE if a memfd meets the limit of open files.
 */
export function mapBlock(init: BlockInit): MappedBlock {
  const byteLength = Math.ceil(init.byteLength / LENGTH_MULTIPLE) * LENGTH_MULTIPLE;
  const plain = init.align <= PAGE && !init.sharable && !init.guard;
  if (!plain || byteLength > LONGEST_IN_SLAB) return ownMapping(init, byteLength);
  return { kind: "host.block", byteLength, start: 0, ...takeFromSlab(byteLength) };
}

/** A length that holds a whole huge page of 2 MiB wherever it begins. */
const ROOM_FOR_HUGE_PAGE = 4 << 20;

/** A block with its own mapping; a guard page is one more mapping. */
function ownMapping(init: BlockInit, rounded: number): MappedBlock {
  const pages = Math.ceil(rounded / PAGE) * PAGE;
  const byteLength = init.guard ? pages : rounded;
  const span = pages + (init.guard ? PAGE : 0);
  const count = init.guard ? 2 : 1;
  const [undo, file]: [Undo, Undo] = [[], []];
  try {
    mappingCount.take(count);
    undo.push(() => mappingCount.giveBack(count));
    const made = init.sharable ? createMemfd(pages, file) : undefined;
    const address = reserve(init, pages, span, made?.fd, undo);
    return {
      kind: "host.block",
      address,
      byteLength,
      start: init.guard ? Math.floor((pages - init.byteLength) / init.align) * init.align : 0,
      ...(made === undefined ? {} : { memfd: made.memfd }),
      free: (fate) => free(fate, address, pages, span, file, count),
    };
  } catch (error) {
    throw undone(error, [...file, ...undo], "allocating host memory");
  }
}

/** Addresses for the block, with memory behind them. */
function reserve(init: BlockInit, pages: number, span: number, fd: number | undefined, undo: Undo): Address {
  let address = NULL;
  if (init.align > PAGE || init.guard) {
    address = reserveAligned(span, init.align, undo);
    mapPages(address, pages, fd);
  } else {
    address = mapPages(NULL, pages, fd);
    undo.push(() => unmapPages(address, pages));
  }
  if (fd === undefined && pages >= ROOM_FOR_HUGE_PAGE) adviseHugePages(address, pages);
  return address;
}

/** Reserves addresses without memory, and gives back what alignment does not need. */
function reserveAligned(span: number, align: number, undo: Undo): Address {
  const slack = align > PAGE ? align : 0;
  const whole = reservePages(span + slack);
  const head = slack === 0 ? 0 : Number(-whole & (BigInt(align) - 1n));
  const address = (whole + BigInt(head)) as Address;
  undo.push(() => unmapPages(address, span));
  const around: Undo = [];
  if (head > 0) around.push(() => unmapPages(whole, head));
  if (slack > head) around.push(() => unmapPages((address + BigInt(span)) as Address, slack - head));
  undoAll(around, "trimming an aligned block");
  return address;
}

/** Gives back as much as is safe: everything, the pages without the addresses, or nothing. */
function free(
  fate: Fate,
  address: Address,
  pages: number,
  span: number,
  file: Undo,
  count: number,
): void {
  const undo: Undo = [...file];
  if (fate === "unknown") undo.push(() => void mapPages(address, pages));
  if (fate === "unused") {
    undo.push(() => {
      unmapPages(address, span);
      mappingCount.giveBack(count);
    });
  }
  undoAll(undo, "giving host memory back");
}

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
  return { address, free: (fate) => giveBackTo(slab, index, address, fate) };
}

/** True if a byte of this range lies in a block without an owner, whose former owner may still know the address. */
export function isVacant(address: bigint, byteLength: number): boolean {
  const start = asNumber(address);
  for (const slab of slabs) {
    const at = start - asNumber(slab.address);
    const from = Math.max(0, at);
    const to = Math.min(SLAB, at + byteLength);
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
function giveBackTo(slab: Slab, index: number, address: Address, fate: Fate): void {
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
