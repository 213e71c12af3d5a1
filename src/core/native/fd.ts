import { F_DUPFD_CLOEXEC, F_SETFD, FD_CLOEXEC } from "../../../ffi/libc/constants.ts";
import { throwAll } from "../errors.ts";
import { unwind } from "../life/undo.ts";
import { libc, libcError } from "./libc.ts";

/**
 * Duplicates an fd. The caller owns the new one, and child processes do not inherit it.
 *
 * @throws {NativeCallError} EBADF if it is not open, EMFILE if there are too many.
 */
export function duplicateFd(fd: number): number {
  const copy = libc().fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) {
    throw libcError("fcntl", "Check that it is open; else close other fds, or raise the limit (ulimit -n).");
  }
  return copy;
}

/** Closes an fd. */
export function closeFd(fd: number): void {
  if (libc().close(fd) !== 0) throw libcError("close");
}

/** Marks an fd so that child processes do not inherit it, and returns it. If that fails, the fd is closed. */
export function closedOnExec(fd: number): number {
  if (libc().fcntl(fd, F_SETFD, FD_CLOEXEC) === 0) return fd;
  const error = libcError("fcntl");
  throwAll([error, ...unwind([() => closeFd(fd)])], "keeping an fd from other programs");
  throw error;
}
