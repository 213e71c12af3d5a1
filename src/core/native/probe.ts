import type { Address } from "../../../ffi/address.ts";
import { MADV_POPULATE_WRITE } from "../../../ffi/libc/constants.ts";
import { EFAULT } from "../../../ffi/libc/errors.ts";
import { iovec, writeIovec } from "../../../ffi/libc/structs.ts";
import { ArgumentError } from "../errors.ts";
import { pinned } from "./pin.ts";
import { libc, libcError } from "./libc.ts";
import { readOnlyIn } from "./mappings.ts";
import { PAGE } from "./pages.ts";
import { isVacant } from "./slabs.ts";

/** The most ranges that one process_vm_readv takes (IOV_MAX). */
const MOST_RANGES = 1024;

/**
 * Reads a byte of every page of a range through the kernel, which returns EFAULT where a direct read would end the
 * process. If the kernel does not permit that (a sandbox), nothing is learned. A block of samepage's own without an owner
 * counts as gone, although it can be read.
 * @throws {ArgumentError} if a page cannot be read, or belongs to a block without an owner.
 */
export function probePages(
  address: Address,
  byteLength: number,
  api: string = "host",
  argument: string = "pointer",
): void {
  const unreadable = (page: number) => {
    const what = `page ${page} of the ${byteLength} bytes at 0x${address.toString(16)} cannot be read.`;
    const hint = "Is the memory still there, and as long as that?";
    return new ArgumentError(`${argument}: ${what}`, { api, fn: "process_vm_readv", argument, hint });
  };
  const first = address & ~BigInt(PAGE - 1);
  const pages = Number((address + BigInt(byteLength) - 1n - first) / BigInt(PAGE)) + 1;
  const landing = new Uint8Array(MOST_RANGES);
  const local = new DataView(new ArrayBuffer(iovec.size));
  const remote = new DataView(new ArrayBuffer(iovec.size * MOST_RANGES));
  for (let done = 0; done < pages;) {
    const count = Math.min(MOST_RANGES, pages - done);
    for (let i = 0; i < count; i++) {
      const page = first + BigInt(PAGE) * BigInt(done + i);
      writeIovec(remote, i * iovec.size, { iov_base: (page < address ? address : page) as Address, iov_len: 1n });
    }
    const read = pinned(landing, api, (into) => {
      writeIovec(local, 0, { iov_base: into, iov_len: BigInt(count) });
      return libc().process_vm_readv(libc().getpid(), local, 1n, remote, BigInt(count), 0n);
    });
    if (read < 0n) {
      const error = libcError("process_vm_readv");
      if (error.code !== EFAULT) break;
      throw unreadable(done);
    }
    if (read < BigInt(count)) throw unreadable(done + Number(read));
    done += count;
  }
  if (!isVacant(address, byteLength)) return;
  throw new ArgumentError(`${argument}: a tensor was at 0x${address.toString(16)}, and has been disposed.`, {
    api,
    argument,
    hint: "Keep that tensor for as long as its memory is used.",
  });
}

/**
 * Asks the kernel whether the first and the last page of a range may be written, without changing a byte. If the kernel
 * cannot say (before Linux 5.14, device memory), its list of mappings is read.
 * @throws {ArgumentError} if a page is read-only.
 */
export function probeWritable(address: Address, byteLength: number): void {
  const page = BigInt(PAGE);
  const last = (address + BigInt(byteLength) - 1n) / page * page;
  const isWritable = (at: bigint) => libc().madvise(at as Address, page, MADV_POPULATE_WRITE) === 0;
  if (isWritable(address / page * page) && isWritable(last)) return;
  const readOnly = readOnlyIn(address, byteLength);
  if (readOnly === undefined) return;
  throw new ArgumentError(
    `access: the memory at 0x${readOnly.toString(16)} is read-only: a write would end the process.`,
    { api: "host", fn: "wrap", argument: "access", hint: 'Wrap it with { access: "read" }.' },
  );
}
