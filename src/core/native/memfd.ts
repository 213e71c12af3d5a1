/**
 * Memory in an anonymous file (memfd), which other processes and APIs map by its fd.
 *
 * @module
 */
import {
  F_ADD_SEALS,
  F_GET_SEALS,
  F_SEAL_FUTURE_WRITE,
  F_SEAL_GROW,
  F_SEAL_SHRINK,
  F_SEAL_WRITE,
  MFD_ALLOW_SEALING,
  MFD_CLOEXEC,
} from "../../../ffi/libc/constants.ts";
import { EINVAL } from "../../../ffi/libc/errors.ts";
import { Checks } from "../checks.ts";
import { owned } from "../life/ledger.ts";
import type { Undo } from "../life/undo.ts";
import { accessOfFd, closeFd, duplicateFd, isDmaBuf, kindOfFile, statusOf, whereOpen } from "./fd.ts";
import { libc, libcError } from "./libc.ts";
import { cString } from "./text.ts";

const checks = new Checks("host");

/** Memory in an anonymous file. */
export interface Memfd {
  /** Which file it is: the same for all fds of one. */
  readonly identity: bigint;
  /** Its length in bytes. */
  readonly byteLength: number;
  /** How it can be mapped. A file that no process can write is mapped privately: older kernels demand that. */
  readonly mode: "read-write" | "read" | "read-private";
  /** One more fd of it, which the caller closes. */
  readonly duplicate: () => number;
}

/** Makes a memfd of zeros that neither shrinks nor grows. It is closed when `undo` runs. @throws {NativeCallError} */
export function createMemfd(byteLength: number, undo: Undo): { readonly fd: number; readonly memfd: Memfd } {
  const fd = libc().memfd_create(cString("samepage"), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) throw libcError("memfd_create");
  holdFd(fd, undo);
  if (libc().ftruncate(fd, BigInt(byteLength)) !== 0) throw libcError("ftruncate");
  // The owner of a duplicate must not shrink it under us: touching pages that are gone ends the process.
  addSeals(fd, F_SEAL_SHRINK | F_SEAL_GROW);
  const { identity } = statusOf(fd);
  return { fd, memfd: { identity, byteLength, mode: "read-write", duplicate: () => duplicateFd(fd) } };
}

/**
 * Seals a memfd, so that no process can map it for writing any longer; old mappings stay writable. Ignores other files.
 */
export function sealAgainstWriters(fd: number): void {
  if (sealsOf(fd) !== undefined) addSeals(fd, F_SEAL_FUTURE_WRITE);
}

/** Keeps an fd until `undo` runs, and counts it. */
export function holdFd(fd: number, undo: Undo): void {
  owned("host.fd", undo, () => closeFd(fd));
}

/** @throws {ArgumentError} if the fd is not open, no memfd, may shrink, or cannot be read. */
export function inspectMemfd(fd: number): Memfd {
  const { identity, byteLength, mode: type } = whereOpen(checks, "fd", fd, statusOf);
  const seals = sealsOf(fd);
  if (seals === undefined) {
    if (isDmaBuf(fd)) throw checks.wrong("fd", "expected a memfd, got a dma-buf.", "dmabuf.attach() takes it.");
    const hint = "Make one: host.allocate({ sharable: true }).exportFd(), or memfd_create in other code.";
    throw checks.wrong("fd", `expected a memfd, got ${kindOfFile(type)}.`, hint);
  }
  if ((seals & F_SEAL_SHRINK) === 0) {
    throw checks.wrong(
      "fd",
      "the memfd can shrink, and reading memory that is gone ends the process.",
      "Have its owner seal it: memfd_create(…, MFD_ALLOW_SEALING), then fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK).",
    );
  }
  if (byteLength > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw checks.wrong("fd", `it has ${byteLength} bytes, which is too long.`);
  }
  const opened = accessOfFd(fd);
  if (opened === "write") {
    throw checks.wrong("fd", "the fd was opened for writing only.", "Open it for reading too: O_RDWR.");
  }
  const sealed = (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) !== 0;
  const shared = sealed ? "read" : opened;
  const mode = (seals & F_SEAL_WRITE) !== 0 ? "read-private" : shared;
  return { identity, byteLength: Number(byteLength), mode, duplicate: () => duplicateFd(fd) };
}

function sealsOf(fd: number): number | undefined {
  const seals = libc().fcntl(fd, F_GET_SEALS, 0);
  if (seals >= 0) return seals;
  const error = libcError("fcntl");
  if (error.code !== EINVAL) throw error;
}

function addSeals(fd: number, seals: number): void {
  if (libc().fcntl(fd, F_ADD_SEALS, seals) !== 0) throw libcError("fcntl");
}
