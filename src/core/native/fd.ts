import { F_DUPFD_CLOEXEC } from "../../../ffi/libc/constants.ts";
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

/** The same open file under an fd that programs which are started do not get; the one given is closed. */
export function closedOnExec(fd: number): number {
  try {
    return duplicateFd(fd);
  } finally {
    closeFd(fd);
  }
}
