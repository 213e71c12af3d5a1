import { type Address, NULL } from "../../../ffi/address.ts";
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

/** The page size of every Linux that this runs on (x86-64, and aarch64 as Debian builds it). */
export const PAGE = 4096;

const MAP_FAILED = 0xffff_ffff_ffff_ffffn;

/** Maps readable and writable pages, of a memfd from `offset` or anonymous, at `address` unless that is null. */
export function mapPages(address: Address, byteLength: number, fd?: number, offset: number = 0): Address {
  const fixed = address === NULL ? 0 : MAP_FIXED;
  const kind = fd === undefined ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  return map(address, byteLength, PROT_READ | PROT_WRITE, kind | fixed, fd ?? -1, offset);
}

/**
 * Asks for huge pages behind anonymous memory: CUDA locks 33 MB of them in 1.4 ms, and 8,100 small pages in 2.0 ms. A
 * kernel without them refuses (EINVAL), or has none left: the memory is good all the same.
 */
export function adviseHugePages(address: Address, byteLength: number): void {
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
export function dropPages(address: Address, byteLength: number): void {
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
  const mapped = libc().mmap(address, BigInt(byteLength), protection, flags, fd, BigInt(offset));
  if (mapped === MAP_FAILED) throw libcError("mmap", `The request was for ${byteLength} bytes.`);
  return mapped;
}
