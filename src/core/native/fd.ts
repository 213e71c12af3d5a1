import { F_DUPFD_CLOEXEC, F_SETFD, FD_CLOEXEC } from "../../../ffi/libc/constants.ts";
import { throwAll } from "../errors.ts";
import { unwind } from "../life/undo.ts";
import { libc, libcError } from "./libc.ts";

/**
 * A new fd of the same open file, which the caller owns; programs that are started do not get it.
 *
 * @throws {NativeCallError} EBADF for what is no open fd, EMFILE where there are too many.
 */
export function duplicateFd(fd: number): number {
  const copy = libc().fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) throw libcError("fcntl", "Is it open? Else close others, or raise the limit (ulimit -n).");
  return copy;
}

/** Closes an fd. */
export function closeFd(fd: number): void {
  if (libc().close(fd) !== 0) throw libcError("close");
}

/** Keeps an fd from programs that are started, and answers it. It is this function's: where that fails, it is closed. */
export function closedOnExec(fd: number): number {
  if (libc().fcntl(fd, F_SETFD, FD_CLOEXEC) === 0) return fd;
  const error = libcError("fcntl");
  throwAll([error, ...unwind([() => closeFd(fd)])], "keeping an fd from other programs");
  throw error;
}
