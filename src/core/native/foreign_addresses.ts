import { type Address, asNumber } from "../../../ffi/address.ts";
import { EBADF, EFAULT, ENOMEM } from "../../../ffi/libc/errors.ts";
import { ArgumentError, NativeCallError } from "../errors.ts";
import { allOrNothing, type Undo } from "../life/undo.ts";
import { Budget, type Kernel, mappingCount, readOnlyIn, type Shares, startOfHeap, textOf } from "./mappings.ts";
import { isVacant, PAGE, reservePages, unmapPages } from "./blocks.ts";
import { MADV_POPULATE_WRITE } from "../../../ffi/libc/constants.ts";
import { iovec, writeIovec } from "../../../ffi/libc/structs.ts";
import { FixedStruct } from "./pin.ts";
import { errno, libc, libcError } from "./libc.ts";

/** Other processes claim any length for their memory, which may be sparse: they get a small part of all addresses. */
const SHARES: Shares = { own: 1 / 8, process: 1 / 2, step: 1 / 128, unread: 0 };

/** Counts the addresses of memory that others have made: other processes, libraries and drivers. In bytes. */
export class ForeignAddresses extends Budget {
  constructor(kernel: Kernel = { limit: limitOfAddresses, inUse: addressesInUse }) {
    super(kernel, SHARES, tooMuch);
  }
}

/** Counts the addresses of this isolate's memory of others. */
export const foreignAddresses: ForeignAddresses = new ForeignAddresses();

/** Returns what counts it off. @throws {ArgumentError} for too many mappings, or too few addresses. */
export function countForeignMapping(byteLength: number): () => void {
  mappingCount.take(1);
  const countOff = () => mappingCount.giveBack(1);
  allOrNothing("counting a mapping", () => foreignAddresses.take(byteLength), [countOff]);
  return () => {
    foreignAddresses.giveBack(byteLength);
    countOff();
  };
}

/**
 * Maps memory that others have made, and counts it. `undo` counts it off.
 * @throws {ArgumentError} if there are too many mappings, or too few addresses are left.
 * @throws {NativeCallError} if the kernel does not map it for another reason.
 */
export function mapForeign(byteLength: number, undo: Undo, map: () => Address): Address {
  undo.push(countForeignMapping(byteLength));
  try {
    return map();
  } catch (error) {
    if (error instanceof NativeCallError && error.code === ENOMEM) {
      for (const budget of [mappingCount, foreignAddresses]) budget.check(); // what Workers take, each counts by itself
    }
    throw error;
  }
}

/** The kernel maps from the highest address down, so a new page shows how many there are: 2^47 on x86-64. */
function limitOfAddresses(): number {
  const page = reservePages(PAGE);
  unmapPages(page, PAGE);
  const most = 2 ** page.toString(2).length;
  const limit = Number(/^Max address space +(\d+)/m.exec(textOf("/proc/self/limits"))?.[1] ?? Infinity);
  return Math.min(most, limit);
}

function addressesInUse(): number {
  return Number(/^VmSize:\s+(\d+) kB/m.exec(textOf("/proc/self/status"))?.[1] ?? 0) * 1024;
}

function tooMuch(byteLength: number, limit: number, own: boolean): ArgumentError {
  const what = own
    ? `memory of other processes would take ${inGiB(byteLength)} of addresses`
    : `the process has ${inGiB(byteLength)} of addresses in use`;
  const rest = `of the ${inGiB(limit)} that there are; the rest is left to V8 and to drivers.`;
  return new ArgumentError(`${what}, ${rest}`, {
    api: "host",
    fn: "mmap",
    hint:
      "Dispose tensors that were received or attached. If there are few, their owner says they are longer than they are.",
  });
}

function inGiB(byteLength: number): string {
  return `${Math.ceil(byteLength / 2 ** 30)} GiB`;
}

/** The most ranges that one process_vm_readv takes (IOV_MAX). */
const MAX_RANGES = 1024;

/** Where the bytes go, one of each page, and the two lists of ranges. */
const landing = new FixedStruct(MAX_RANGES);
const local = new DataView(new ArrayBuffer(iovec.size));
const remote = new DataView(new ArrayBuffer(iovec.size * MAX_RANGES));

/**
 * Reads a byte of every page of a range through the kernel, which returns EFAULT where a direct read would end the
 * process. If the kernel permits no such call (a sandbox), nothing is learned. A block of samepage's own without an owner
 * counts as gone, although it can be read.
 * @throws {ArgumentError} if a page cannot be read, or belongs to a block without an owner.
 */
export function probePages(
  address: Address,
  byteLength: number,
  api: string = "host",
  argument: string = "pointer",
): void {
  const first = address & PAGE_BITS;
  const pages = Number((address + BigInt(byteLength) - 1n - first) / BigInt(PAGE)) + 1;
  if (pages > 2 || !areEndsReadable(address, byteLength)) {
    const unreadable = firstUnreadable(address, first, pages);
    if (unreadable < pages) {
      const what = `page ${unreadable} of the ${byteLength} bytes at 0x${address.toString(16)} cannot be read.`;
      const hint = "Is the memory still there, and as long as that?";
      throw new ArgumentError(`${argument}: ${what}`, { api, fn: "process_vm_readv", argument, hint });
    }
  }
  assertOccupied(address, byteLength, api, argument);
}

/** The check that needs no system call. @throws {ArgumentError} if a tensor was there, and has been disposed. */
export function assertOccupied(
  address: Address,
  byteLength: number,
  api: string = "host",
  argument: string = "pointer",
): void {
  if (!isVacant(address, byteLength)) return;
  throw new ArgumentError(`${argument}: a tensor was at 0x${address.toString(16)}, and has been disposed.`, {
    api,
    argument,
    hint: "Keep that tensor for as long as its memory is used.",
  });
}

/** The number of the first page that cannot be read; `pages` if all can be, or the kernel does not say. */
function firstUnreadable(address: Address, first: bigint, pages: number): number {
  for (let done = 0; done < pages;) {
    const count = Math.min(MAX_RANGES, pages - done);
    for (let i = 0; i < count; i++) {
      const page = first + BigInt(PAGE) * BigInt(done + i);
      writeIovec(remote, i * iovec.size, { iov_base: (page < address ? address : page) as Address, iov_len: 1n });
    }
    writeIovec(local, 0, { iov_base: landing.address, iov_len: BigInt(count) });
    const read = libc().process_vm_readv(libc().getpid(), local, 1n, remote, BigInt(count), 0n);
    if (read < 0n) return libcError("process_vm_readv").code === EFAULT ? done : firstUnreadableOneByOne(first, pages);
    if (read < BigInt(count)) return done + Number(read);
    done += count;
  }
  return pages;
}

/** The same with a call for each page, where the kernel (a sandbox, an emulator) refuses process_vm_readv. */
function firstUnreadableOneByOne(first: bigint, pages: number): number {
  if (!isReadable(landing.address)) return pages; // it refuses this call, too
  for (let i = 0; i < pages; i++) if (!isReadable(first + BigInt(PAGE) * BigInt(i) as Address)) return i;
  return pages;
}

/**
 * The same for a native object, with less work where it lies in two pages at most: programs receive one after another.
 * @throws {ArgumentError} as {@link probePages}.
 */
export function probeObject(address: Address, byteLength: number, api: string, argument: string): void {
  if (byteLength > PAGE || !areEndsReadable(address, byteLength)) probePages(address, byteLength, api, argument);
}

/**
 * A text at an address that others gave, without a read past its end.
 * @throws {ArgumentError} as {@link probePages}, and for a text of more than `most` bytes.
 */
export function probeText(address: Address, most: number, api: string, argument: string): string {
  for (let length = 0; length <= most;) {
    const at = address + BigInt(length) as Address;
    probeObject(at, 1, api, argument);
    const room = PAGE - Number(at % BigInt(PAGE));
    const found = Number(libc().strnlen(at, BigInt(room)));
    length += found;
    if (found < room && length <= most) return length === 0 ? "" : new TextDecoder().decode(copyOf(address, length));
  }
  throw new ArgumentError(`${argument}: it has more than ${most} bytes.`, { api, argument });
}

/** A copy of a native object's bytes. @throws {ArgumentError} as {@link probePages}. */
export function readObject(address: Address, byteLength: number, api: string, argument: string): DataView {
  probeObject(address, byteLength, api, argument);
  return new DataView(copyOf(address, byteLength).buffer);
}

/** A copy of so many bytes, which can be read. */
export function copyOf(address: Address, byteLength: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(byteLength);
  libc().memcpy(bytes, address, BigInt(byteLength));
  return bytes;
}

/**
 * The same for memory that a tensor will be over, and whether it may be written if it will be.
 * @throws {ArgumentError} as {@link probePages}, and if a page is read-only.
 */
export function probeEveryPage(address: Address, byteLength: number, isWritten: boolean): void {
  probePages(address, byteLength);
  if (isWritten) probeWritable(address, byteLength);
}

/**
 * The same for a range whose owner vouches for its length: only the first and the last page are tried.
 * @throws {ArgumentError} as {@link probeEveryPage}.
 */
export function probeEnds(address: Address, byteLength: number, isWritten: boolean): void {
  const areGood = isWritten ? areEndsWritable : areEndsReadable; // what can be written can be read
  if (areGood(address, byteLength) && !isVacant(address, byteLength)) return;
  probePages(address, byteLength);
  if (isWritten) assertWritable(address, byteLength);
}

function areEndsReadable(address: Address, byteLength: number): boolean {
  if (isInHeap(address, byteLength)) return true;
  if (!isReadable(address)) return false;
  return inPage(address) + byteLength <= PAGE || isReadable(address + BigInt(byteLength) - MASK_BYTES as Address);
}

/** Where an address lies in its page. Numbers are exact below 2^53, beyond which nothing can be read. */
function inPage(address: bigint): number {
  const at = asNumber(address);
  return at - Math.floor(at / PAGE) * PAGE;
}

const PAGE_BITS = ~BigInt(PAGE - 1);

/** Where the heap begins; undefined until it is first needed. */
let heap: number | undefined;

/**
 * True for a range in the C library's heap, which is mapped up to the program break. The C library knows the break
 * without a system call, which takes longer than attaching an object, and slows the code behind it for a while.
 */
function isInHeap(address: Address, byteLength: number): boolean {
  heap ??= startOfHeap();
  const at = asNumber(address);
  return at >= heap && at + byteLength <= asNumber(libc().sbrk(0n));
}

/** What signalfd() reads. */
const MASK_BYTES = 8n;

/** No fd, and not -1, for which signalfd() would make one. */
const NO_FD = -2;

/** The kernel reads the mask before it refuses the fd. False where it does not permit the call (a sandbox), too. */
function isReadable(address: Address): boolean {
  libc().signalfd(NO_FD, address, 0);
  return errno() === EBADF;
}

/**
 * Asks the kernel whether the first and the last page of a range may be written, without changing a byte. If the kernel
 * cannot say (before Linux 5.14, device memory), its list of mappings is read.
 * @throws {ArgumentError} if a page is read-only.
 */
export function probeWritable(address: Address, byteLength: number): void {
  if (!areEndsWritable(address, byteLength)) assertWritable(address, byteLength);
}

/** True if the first or the last page of a range is read-only, which is found out in the same way. */
export function isReadOnly(address: Address, byteLength: number): boolean {
  return !areEndsWritable(address, byteLength) && readOnlyIn(address, byteLength) !== undefined;
}

function areEndsWritable(address: Address, byteLength: number): boolean {
  const first = address & PAGE_BITS;
  const length = inPage(address) + byteLength;
  if (length <= 2 * PAGE) return isWritable(first, length);
  return isWritable(first, PAGE) && isWritable(address + BigInt(byteLength) - 1n & PAGE_BITS, PAGE);
}

/** The kernel takes whole pages, of which the first begins at the address. */
function isWritable(page: bigint, byteLength: number): boolean {
  return libc().madvise(page as Address, BigInt(byteLength), MADV_POPULATE_WRITE) === 0;
}

/** The same by the kernel's list of mappings alone, which touches no page. */
export function assertWritable(address: Address, byteLength: number): void {
  const readOnly = readOnlyIn(address, byteLength);
  if (readOnly === undefined) return;
  throw new ArgumentError(
    `access: the memory at 0x${readOnly.toString(16)} is read-only: a write would end the process.`,
    { api: "host", fn: "wrap", argument: "access", hint: 'Wrap it with { access: "read" }.' },
  );
}
