import { type Address, NULL } from "../../../ffi/address.ts";
import {
  F_ADD_SEALS,
  F_SEAL_GROW,
  F_SEAL_SHRINK,
  MAP_ANONYMOUS,
  MAP_FIXED,
  MAP_NORESERVE,
  MAP_PRIVATE,
  MAP_SHARED,
  MFD_ALLOW_SEALING,
  MFD_CLOEXEC,
  PROT_NONE,
  PROT_READ,
  PROT_WRITE,
} from "../../../ffi/libc/constants.ts";
import type { Block, Fate } from "../memory/allocation.ts";
import { ArgumentError, throwAll } from "../errors.ts";
import { closeFd, duplicateFd } from "./fd.ts";
import { ledger } from "../life/ledger.ts";
import { type Undo, unwind } from "../life/undo.ts";
import { libc, libcError } from "./libc.ts";

/** The page size of every Linux this runs on (x86-64, and aarch64 as Debian builds it). */
export const PAGE = 4096;

/** The lengths of blocks are multiples of this: what GPUs that share memory with the CPU want, and a cache line. */
export const LENGTH_MULTIPLE = 64;

/** What `mmap` answers where it fails. */
const MAP_FAILED = 0xffff_ffff_ffff_ffffn;

/**
 * The most blocks with a guard page at a time. Each costs two of the process's mappings (vm.max_map_count: 65,530), and
 * V8 ends the process where it gets none.
 */
const MOST_GUARDED = 16_384;

let guarded = 0;

/** A block of anonymous or memfd memory, and how to hand out its fd. */
export interface MappedBlock extends Block {
  /** The address of its first byte. */
  readonly address: Address;
  /** A new fd of the same memory, which the caller owns; undefined for anonymous memory. */
  readonly duplicateFd?: () => number;
}

/** How a block is to be made. */
export interface BlockInit {
  /** Bytes: rounded up to a multiple of 64. */
  readonly byteLength: number;
  /** A power of two. */
  readonly align: number;
  /** In a memfd, so that other processes and APIs can have it. */
  readonly sharable: boolean;
  /** With a page after its end that nobody may touch. */
  readonly guard: boolean;
}

/**
 * Maps zeroed memory. The mapping is as long as alignment and guard page need; what is around the block is given back.
 *
 * @throws {ArgumentError} where there are too many guard pages already.
 * @throws {NativeCallError} ENOMEM where there is not enough, EMFILE where a memfd meets the limit of open files.
 */
export function mapBlock(asked: BlockInit): MappedBlock {
  const init = { ...asked, byteLength: Math.ceil(asked.byteLength / LENGTH_MULTIPLE) * LENGTH_MULTIPLE };
  if (init.guard && guarded === MOST_GUARDED) {
    throw new ArgumentError(`guard: there are ${guarded} blocks with guard pages already.`, {
      api: "host",
      argument: "guard",
      hint: "Dispose some of them, or allocate without.",
    });
  }
  const undo: Undo = [];
  try {
    const fd = init.sharable ? openMemfd(init.byteLength, undo) : undefined;
    const { address, span } = reserve(init, fd, undo);
    guarded += Number(init.guard);
    return {
      kind: "host.block",
      address,
      byteLength: init.byteLength,
      ...(fd === undefined ? {} : { duplicateFd: () => duplicateFd(fd) }),
      free: (fate) => {
        if (fate === "unused") guarded -= Number(init.guard);
        free(fate, address, init.byteLength, span, fd);
      },
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
function reserve(init: BlockInit, fd: number | undefined, undo: Undo): { address: Address; span: number } {
  const pages = Math.ceil(init.byteLength / PAGE) * PAGE;
  const span = pages + (init.guard ? PAGE : 0);
  if (init.align <= PAGE && !init.guard) {
    const address = mapPages(NULL, pages, fd);
    undo.push(() => unmap(address, pages));
    return { address, span };
  }
  const address = reserveAligned(span, init.align, undo);
  mapPages(address, pages, fd);
  return { address, span };
}

/** Addresses that nobody may touch yet; what alignment did not need is given back. */
function reserveAligned(span: number, align: number, undo: Undo): Address {
  const slack = align > PAGE ? align : 0;
  const whole = map(NULL, span + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  const head = slack === 0 ? 0 : Number(-whole & (BigInt(align) - 1n));
  const address = (whole + BigInt(head)) as Address;
  undo.push(() => unmap(address, span));
  const around: Undo = [];
  if (head > 0) around.push(() => unmap(whole, head));
  if (slack > head) around.push(() => unmap((address + BigInt(span)) as Address, slack - head));
  throwAll(unwind(around), "trimming an aligned block");
  return address;
}

/** Readable and writable pages: of the memfd, or anonymous ones. At `address`, unless that is null. */
function mapPages(address: Address, byteLength: number, fd: number | undefined): Address {
  const fixed = address === NULL ? 0 : MAP_FIXED;
  const kind = fd === undefined ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  return map(address, byteLength, PROT_READ | PROT_WRITE, kind | fixed, fd ?? -1);
}

/** Gives back what is safe: all of it; the pages but not the addresses; or nothing. */
function free(fate: Fate, address: Address, byteLength: number, span: number, fd: number | undefined): void {
  const undo: Undo = [];
  if (fd !== undefined) undo.push(() => closeOwn(fd));
  if (fate === "unused") undo.push(() => unmap(address, span));
  if (fate === "unknown") undo.push(() => void mapPages(address, byteLength, undefined));
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

function map(address: Address, byteLength: number, protection: number, flags: number, fd: number): Address {
  const mapped = libc().mmap(address, BigInt(byteLength), protection, flags, fd, 0n);
  if (mapped === MAP_FAILED) throw libcError("mmap", `${byteLength} bytes were asked for.`);
  return mapped;
}

function unmap(address: Address, byteLength: number): void {
  if (libc().munmap(address, BigInt(byteLength)) !== 0) throw libcError("munmap");
}
