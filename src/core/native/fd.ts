import {
  AT_EMPTY_PATH,
  DMA_BUF_IOCTL_SYNC,
  F_DUPFD_CLOEXEC,
  F_GETFL,
  F_SETFD,
  FD_CLOEXEC,
  O_ACCMODE,
  O_RDWR,
  O_WRONLY,
  S_IFCHR,
  S_IFIFO,
  S_IFMT,
  S_IFREG,
  S_IFSOCK,
  SEEK_END,
  STATX_BASIC_STATS,
} from "../../../ffi/libc/constants.ts";
import { EBADF, EINVAL } from "../../../ffi/libc/errors.ts";
import { dma_buf_sync, statx } from "../../../ffi/libc/structs.ts";
import type { Checks } from "../checks.ts";
import { NativeCallError, type Reason } from "../errors.ts";
import { undone } from "../life/undo.ts";
import type { Access } from "../memory/access.ts";
import { libc, libcError, retried } from "./libc.ts";
import { cString } from "./text.ts";
import { textOf } from "./mappings.ts";

/** True for a dma-buf. Drivers accept other files too, which may then shrink. */
export function isDmaBuf(fd: number): boolean {
  const info = infoOf(fd);
  return info === "" ? syncsAsDmaBuf(fd) : exporterIn(info) !== undefined;
}

/** Who made a dma-buf (`"udmabuf"`, `"system"`, `"i915"`), where /proc can be read. */
export function exporterOf(fd: number): string | undefined {
  return exporterIn(infoOf(fd));
}

const BESIDE_THE_MEMORY: Reason = {
  reason:
    "its exporter (virtio_gpu) shows the CPU pages of the guest's, and what the GPU or the driver writes is in the " +
    "hypervisor's memory: the pages have it only once the driver has read it back.",
  remedy: 'Pass { copy: "allow" }: the API that made it reads it back. Or map it to an API on that GPU.',
};

/** Why a mapping of this exporter's dma-bufs is not their memory; undefined where it is, as far as is known. */
export function whyHidden(exporter: string | undefined): Reason | undefined {
  return exporter === "virtio_gpu" ? BESIDE_THE_MEMORY : undefined;
}

function infoOf(fd: number): string {
  return textOf(`/proc/self/fdinfo/${fd}`);
}

function exporterIn(info: string): string | undefined {
  return /^exp_name:\s*(.*)$/m.exec(info)?.[1];
}

/** Where /proc cannot be read: a dma-buf refuses a sync of no direction, and most other files do not know the request. */
function syncsAsDmaBuf(fd: number): boolean {
  const sync = new DataView(new ArrayBuffer(dma_buf_sync.size));
  return retried(() => libc().ioctl(fd, DMA_BUF_IOCTL_SYNC, sync)) === -EINVAL;
}

/** The caller owns the new fd; child processes do not inherit it. @throws {NativeCallError} EBADF, or EMFILE. */
export function duplicateFd(fd: number): number {
  const copy = libc().fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) throw libcError("fcntl");
  return copy;
}

/** What a call returns for an fd that a program gave. @throws {ArgumentError} where the fd is not open. */
export function whereOpen<T>(checks: Checks, argument: string, fd: number, ask: (fd: number) => T): T {
  try {
    return ask(fd);
  } catch (error) {
    if (!(error instanceof NativeCallError) || error.code !== EBADF) throw error;
    throw checks.wrong(argument, `${fd} is not open.`, "Pass an fd that is open in this process.");
  }
}

export function closeFd(fd: number): void {
  if (libc().close(fd) !== 0) throw libcError("close");
}

/**
 * The length of a dma-buf in bytes, as the kernel reports it. @throws {NativeCallError} ESPIPE for what has no length.
 */
export function lengthOfFd(fd: number): number {
  const length = Number(libc().lseek(fd, 0n, SEEK_END));
  if (length < 0) throw libcError("lseek");
  return length;
}

/** What can be done with memory by an fd of it. */
export interface FdFacts {
  /** What the fd allows. */
  readonly access: Access;
  /** Why a mapping of the fd is refused, or is not the memory; undefined where it is. */
  readonly hidden?: Reason | undefined;
  /**
   * Why only the driver that made the fd can use it, as a name of the memory; undefined if the fd carries the memory
   * itself.
   */
  readonly stub?: Reason | undefined;
}

/** What the kernel knows of a dma-buf. */
export function factsOfFd(fd: number): FdFacts {
  return { access: accessOfFd(fd), hidden: whyHidden(exporterOf(fd)) };
}

/** Writes all of it, where the fd stands. @throws {NativeCallError} ENOSPC where there is no room for it. */
export function writeAll(fd: number, bytes: Uint8Array<ArrayBuffer>): void {
  for (let at = 0; at < bytes.length;) {
    const written = libc().write(fd, bytes.subarray(at), BigInt(bytes.length - at));
    if (written <= 0n) throw libcError("write");
    at += Number(written);
  }
}

/** Marks an fd so that child processes do not inherit it, and returns it. If that fails, the fd is closed. */
export function closedOnExec(fd: number): number {
  if (libc().fcntl(fd, F_SETFD, FD_CLOEXEC) === 0) return fd;
  const error = libcError("fcntl");
  throw undone(error, [() => closeFd(fd)], "keeping an fd from other programs");
}

/** What an fd was opened for. @throws {NativeCallError} EBADF if it is not open. */
export function accessOfFd(fd: number): Access {
  const flags = libc().fcntl(fd, F_GETFL, 0);
  if (flags < 0) throw libcError("fcntl", "Is the fd still open?");
  const opened = flags & O_ACCMODE;
  if (opened === O_RDWR) return "read-write";
  return opened === O_WRONLY ? "write" : "read";
}

/** What the kernel reports: every import of an fd asks, and the result is read at once. */
const status = new DataView(new ArrayBuffer(statx.size));
const NO_PATH = cString("");

export interface FileStatus {
  /** Device and inode: equal for two fds of one file, and for no others while it is open. */
  readonly identity: bigint;
  /** The type of file and its permissions: `S_IFREG | 0o600`. */
  readonly mode: number;
  readonly byteLength: bigint;
}

/** @throws {NativeCallError} EBADF if the fd is not open. */
export function statusOf(fd: number): FileStatus {
  // Not fstat: its struct differs between x86-64 and aarch64.
  if (libc().statx(fd, NO_PATH, AT_EMPTY_PATH, STATX_BASIC_STATS, status) !== 0) {
    throw libcError("statx");
  }
  const { stx_mode, stx_ino, stx_size, stx_dev_major, stx_dev_minor } = statx.fields;
  const device = BigInt(status.getUint32(stx_dev_major.offset, true)) << 32n |
    BigInt(status.getUint32(stx_dev_minor.offset, true));
  return {
    identity: device << 64n | status.getBigUint64(stx_ino.offset, true),
    mode: status.getUint16(stx_mode.offset, true),
    byteLength: status.getBigUint64(stx_size.offset, true),
  };
}

const KINDS = new Map(
  [
    [S_IFIFO, "a pipe"],
    [S_IFSOCK, "a socket"],
    [S_IFREG, "a regular file"],
    [S_IFCHR, "a device"],
  ] as const,
);

export type KindOfFile = "a pipe" | "a socket" | "a regular file" | "a device" | "another kind of fd";

export function kindOfFile(mode: number): KindOfFile {
  return KINDS.get((mode & S_IFMT) as typeof S_IFREG) ?? "another kind of fd";
}

/**
 * The kind of file, if it is one without memory: a pipe, a socket, an eventfd. A driver takes any fd for one of its
 * own, and a driver on the CPU reads it, where nothing may ever come. Undefined for what may be memory.
 */
export function kindWithoutMemory(fd: number, mode: number): KindOfFile | undefined {
  const kind = kindOfFile(mode);
  if (kind === "a regular file" || kind === "a device") return undefined;
  return kind === "another kind of fd" && isDmaBuf(fd) ? undefined : kind;
}
