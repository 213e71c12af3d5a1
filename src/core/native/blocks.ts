import { type Address, NULL } from "../../../ffi/address.ts";
import {
  F_ADD_SEALS,
  F_SEAL_GROW,
  F_SEAL_SHRINK,
  MFD_ALLOW_SEALING,
  MFD_CLOEXEC,
} from "../../../ffi/libc/constants.ts";
import type { Block, Fate } from "../memory/allocation.ts";
import { throwAll } from "../errors.ts";
import { closeFd, duplicateFd } from "./fd.ts";
import { ledger } from "../life/ledger.ts";
import { type Undo, unwind } from "../life/undo.ts";
import { libc, libcError } from "./libc.ts";
import { mappingCount } from "./mapping_count.ts";
import { mapPages, PAGE, reservePages, unmapPages } from "./pages.ts";
import { LONGEST_IN_SLAB, takeFromSlab } from "./slabs.ts";

export { PAGE } from "./pages.ts";

/** The lengths of blocks are multiples of this: what GPUs that share memory with the CPU want, and a cache line. */
export const LENGTH_MULTIPLE = 64;

/** A block of anonymous or memfd memory, and how to hand out its fd. */
export interface MappedBlock extends Block {
  /** The address of its first byte, which begins a page. */
  readonly address: Address;
  /** Where the bytes that were asked for begin in it: 0, unless they end at a guard page. */
  readonly start: number;
  /** A new fd of the same memory, which the caller owns; undefined for anonymous memory. */
  readonly duplicateFd?: () => number;
}

/** How a block is to be made. */
export interface BlockInit {
  /** Bytes: rounded up to a multiple of 64. */
  readonly byteLength: number;
  /** A power of two, of the address at which the bytes that were asked for begin. */
  readonly align: number;
  /** In a memfd, so that other processes and APIs can have it. */
  readonly sharable: boolean;
  /** With a page after its end that nobody may touch: the bytes end there, as far as `align` allows. */
  readonly guard: boolean;
}

/**
 * Makes a block of zeroed memory. Small ones share a mapping (see slabs.ts), for a process may only have so many; what
 * is aligned beyond a page, sharable or guarded has one of its own.
 *
 * @throws {ArgumentError} where there are too many mappings already.
 * @throws {NativeCallError} ENOMEM where there is not enough, EMFILE where a memfd meets the limit of open files.
 */
export function mapBlock(init: BlockInit): MappedBlock {
  const byteLength = Math.ceil(init.byteLength / LENGTH_MULTIPLE) * LENGTH_MULTIPLE;
  const plain = init.align <= PAGE && !init.sharable && !init.guard;
  if (!plain || byteLength > LONGEST_IN_SLAB) return ownMapping(init, byteLength);
  return { kind: "host.block", byteLength, start: 0, ...takeFromSlab(byteLength) };
}

/** A block with a mapping of its own; a guard page is one more. */
function ownMapping(init: BlockInit, rounded: number): MappedBlock {
  const pages = Math.ceil(rounded / PAGE) * PAGE;
  const byteLength = init.guard ? pages : rounded;
  const span = pages + (init.guard ? PAGE : 0);
  const count = init.guard ? 2 : 1;
  const undo: Undo = [];
  try {
    mappingCount.take(count);
    undo.push(() => mappingCount.giveBack(count));
    const fd = init.sharable ? openMemfd(byteLength, undo) : undefined;
    const address = reserve(init, pages, span, fd, undo);
    return {
      kind: "host.block",
      address,
      byteLength,
      start: init.guard ? Math.floor((pages - init.byteLength) / init.align) * init.align : 0,
      ...(fd === undefined ? {} : { duplicateFd: () => duplicateFd(fd) }),
      free: (fate) => free(fate, address, pages, span, fd, count),
    };
  } catch (error) {
    throwAll([error, ...unwind(undo)], "allocating host memory");
    throw error;
  }
}

/** Closes an fd that samepage owns. */
function closeOwn(fd: number): void {
  ledger.remove("host.fd");
  closeFd(fd);
}

/** Addresses for the block, with memory in them. */
function reserve(init: BlockInit, pages: number, span: number, fd: number | undefined, undo: Undo): Address {
  if (init.align <= PAGE && !init.guard) {
    const address = mapPages(NULL, pages, fd);
    undo.push(() => unmapPages(address, pages));
    return address;
  }
  const address = reserveAligned(span, init.align, undo);
  mapPages(address, pages, fd);
  return address;
}

/** Addresses that nobody may touch yet; what alignment did not need is given back. */
function reserveAligned(span: number, align: number, undo: Undo): Address {
  const slack = align > PAGE ? align : 0;
  const whole = reservePages(span + slack);
  const head = slack === 0 ? 0 : Number(-whole & (BigInt(align) - 1n));
  const address = (whole + BigInt(head)) as Address;
  undo.push(() => unmapPages(address, span));
  const around: Undo = [];
  if (head > 0) around.push(() => unmapPages(whole, head));
  if (slack > head) around.push(() => unmapPages((address + BigInt(span)) as Address, slack - head));
  throwAll(unwind(around), "trimming an aligned block");
  return address;
}

/** Gives back what is safe: all of it; the pages but not the addresses; or nothing. */
function free(
  fate: Fate,
  address: Address,
  pages: number,
  span: number,
  fd: number | undefined,
  count: number,
): void {
  const undo: Undo = [];
  if (fd !== undefined) undo.push(() => closeOwn(fd));
  if (fate === "unknown") undo.push(() => void mapPages(address, pages));
  if (fate === "unused") {
    undo.push(() => {
      unmapPages(address, span);
      mappingCount.giveBack(count);
    });
  }
  throwAll(unwind(undo), "giving host memory back");
}

function openMemfd(byteLength: number, undo: Undo): number {
  const fd = libc().memfd_create(new TextEncoder().encode("samepage\0"), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) throw libcError("memfd_create", "Close fds, or raise the limit (ulimit -n).");
  ledger.add("host.fd");
  undo.push(() => closeOwn(fd));
  if (libc().ftruncate(fd, BigInt(byteLength)) !== 0) throw libcError("ftruncate");
  // Whoever gets a duplicate must not be able to shrink it under us: touching what is gone ends the process.
  if (libc().fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) !== 0) throw libcError("fcntl");
  return fd;
}
