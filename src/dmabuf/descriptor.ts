import { O_RDWR, S_IFCHR, S_IFIFO, S_IFMT, S_IFREG, S_IFSOCK } from "../../ffi/dmabuf/constants.ts";
import { dma_buf_sync } from "../../ffi/dmabuf/structs.ts";
import { F_GET_SEALS, F_GETFL, O_ACCMODE, SEEK_END } from "../../ffi/libc/constants.ts";
import { EINVAL } from "../../ffi/libc/errors.ts";
import { literal } from "../core/argument.ts";
import type { Access } from "../core/memory/access.ts";
import { statusOf } from "../core/native/fd.ts";
import { libc, libcError } from "../core/native/libc.ts";
import { textOf } from "../core/native/mappings.ts";
import { checks, structOf, tryIoctl } from "./library.ts";

/** What the kernel says of a dma-buf. */
export interface Descriptor {
  /** The inode: equal for all fds of one buffer. */
  readonly identity: bigint;
  /** The buffer's length in bytes. */
  readonly byteLength: number;
  /** Who made it (`"udmabuf"`, `"system"`, `"i915"`), where the kernel tells. */
  readonly exporter: string | undefined;
}

/** What an fd may be instead, by its type of file, and what to do with it. */
const OTHERS: readonly (readonly [type: number, what: string, hint: string])[] = [
  [S_IFIFO, "a pipe", "A pipe has no memory. Send the dma-buf's own fd over a Unix socket, and attach that."],
  [S_IFSOCK, "a socket", "A dma-buf comes through a socket beside a message (SCM_RIGHTS): attach the fd that came."],
  [S_IFREG, "a regular file", "Only a driver makes dma-bufs: read the file into dmabuf.allocate()."],
  [S_IFCHR, "a device", "Ask the device for a buffer: dmabuf.allocate({ from: … }) knows some."],
];

/** An fd that a program gave. @throws {ArgumentError} for what cannot be one. */
export function fdIn(given: number, argument: string): number {
  if (Number.isInteger(given) && given >= 0 && given <= 0x7fff_ffff) return given;
  throw checks.wrong(argument, `expected an fd, got ${literal(given)}.`);
}

/** Asks the kernel; who made it is known of one that was just made. @throws {ArgumentError} for what is no dma-buf. */
export function describe(fd: number, maker?: string): Descriptor {
  const { identity, mode } = statusOf(fd);
  const exporter = maker ?? exporterOf(fd, mode);
  const byteLength = Number(libc().lseek(fd, 0n, SEEK_END));
  if (byteLength < 0) throw libcError("lseek");
  return { identity, byteLength, exporter };
}

/** Who made a dma-buf, where /proc can be read. @throws {ArgumentError} for what is no dma-buf. */
function exporterOf(fd: number, mode: number): string | undefined {
  const told = textOf(`/proc/self/fdinfo/${fd}`);
  const exporter = /^exp_name:\s*(.*)$/m.exec(told)?.[1];
  if (told === "" ? !answersAsDmaBuf(fd) : exporter === undefined) throw noDmaBuf(fd, mode);
  return exporter;
}

/** What an fd was opened for. */
export function accessOfFd(fd: number): Access {
  const flags = libc().fcntl(fd, F_GETFL, 0);
  if (flags < 0) throw libcError("fcntl", "Is the fd still open?");
  return (flags & O_ACCMODE) === O_RDWR ? "read-write" : "read";
}

/** Where /proc cannot be read: a dma-buf refuses a sync of no direction, and most other files do not know the request. */
function answersAsDmaBuf(fd: number): boolean {
  return tryIoctl(fd, "DMA_BUF_IOCTL_SYNC", structOf(dma_buf_sync)) === -EINVAL;
}

function noDmaBuf(fd: number, mode: number): Error {
  if (libc().fcntl(fd, F_GET_SEALS, 0) >= 0) {
    const hint = "host.attach() takes it. Map that tensor to dmabuf: /dev/udmabuf makes a dma-buf of a memfd.";
    return checks.wrong("fd", "expected a dma-buf, got a memfd.", hint);
  }
  const [, what, hint] = OTHERS.find(([type]) => (mode & S_IFMT) === type) ??
    [0, "another kind of fd", "Ask the driver that made the memory to export it as a dma-buf."];
  return checks.wrong("fd", `expected a dma-buf, got ${what}.`, hint);
}
