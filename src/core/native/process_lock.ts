import { LOCK_EX, LOCK_NB, O_CLOEXEC, O_RDONLY } from "../../../ffi/libc/constants.ts";
import { EWOULDBLOCK } from "../../../ffi/libc/errors.ts";
import { InteropError } from "../errors.ts";
import { errno, libc } from "./libc.ts";
import { sleepSync } from "./sleep.ts";

/** What each process has one of, and needs no permission and no name of its own in the filesystem. */
const LOCKED = new TextEncoder().encode("/proc/self\0");

/** After so many milliseconds it goes on without: an isolate that was terminated in the middle never lets go. */
const PATIENCE_MS = 10_000;

/**
 * Runs what no two threads of a process may do at a time, though isolates share no memory: for drivers whose first call
 * is not safe for threads. Where that cannot be had (no /proc, no fd left), it runs all the same. Not to be nested.
 */
export function alone<T>(action: () => T): T {
  const fd = lockFile();
  if (fd < 0) return action();
  try {
    const end = performance.now() + PATIENCE_MS;
    while (libc().flock(fd, LOCK_EX | LOCK_NB) < 0 && errno() === EWOULDBLOCK && performance.now() < end) sleepSync(1);
    return action();
  } finally {
    libc().close(fd); // which lets go of it
  }
}

/** An fd to lock; -1 where there is none, or libc may not be opened. */
function lockFile(): number {
  try {
    return libc().open(LOCKED, O_RDONLY | O_CLOEXEC, 0);
  } catch (error) {
    if (error instanceof InteropError) return -1;
    throw error;
  }
}
