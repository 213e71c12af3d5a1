import { LOCK_EX, LOCK_NB, O_CLOEXEC, O_RDONLY } from "../../../ffi/libc/constants.ts";
import { EWOULDBLOCK } from "../../../ffi/libc/errors.ts";
import { InteropError } from "../errors.ts";
import { errno, libc } from "./libc.ts";
import { sleepSync } from "../pace.ts";

/** A file that each process has one of, and that needs no permission and no name in the file system. */
const LOCKED = new TextEncoder().encode("/proc/self\0");

/** After so many milliseconds it goes on without the lock: an isolate that was terminated never releases it. */
const PATIENCE_MS = 10_000;

/**
 * Runs a function that no two threads of a process may run at once, although isolates share no memory: for drivers whose
 * first call is not thread-safe. If there is no lock (no /proc, no fd left), it runs anyway. Do not nest it.
 */
export function alone<T>(action: () => T): T {
  const fd = lockFile();
  if (fd < 0) return action();
  try {
    const end = performance.now() + PATIENCE_MS;
    while (libc().flock(fd, LOCK_EX | LOCK_NB) < 0 && errno() === EWOULDBLOCK && performance.now() < end) sleepSync(1);
    return action();
  } finally {
    libc().close(fd); // releases the lock
  }
}

/** An fd to lock; -1 if it cannot be opened, or libc may not be. */
function lockFile(): number {
  try {
    return libc().open(LOCKED, O_RDONLY | O_CLOEXEC, 0);
  } catch (error) {
    if (error instanceof InteropError) return -1;
    throw error;
  }
}
