import { undone } from "../core/life/undo.ts";
import { closeFd, duplicateFd, statusOf } from "../core/native/fd.ts";

/** An fd that is exported once and duplicated for each caller, because an export may take a millisecond. */
export class FdSource {
  readonly #make: () => number;
  #fd: number | undefined;

  constructor(make: () => number) {
    this.#make = make;
  }

  /** A duplicate, which the caller owns. */
  take(): number {
    return duplicateFd(this.#fd ??= this.#make());
  }

  close(): void {
    const fd = this.#fd;
    this.#fd = undefined;
    if (fd !== undefined) closeFd(fd);
  }
}

/** Calls an import, and closes the fd if it fails, unless the driver has closed it, as lavapipe (Mesa 22.3) does. */
export function givenAway<R>(fd: number, what: string, use: () => R): R {
  let identity: bigint | undefined;
  try {
    ({ identity } = statusOf(fd));
    return use();
  } catch (error) {
    const isOurs = identity === undefined || isStill(fd, identity);
    throw undone(error, isOurs ? [() => closeFd(fd)] : [], what);
  }
}

function isStill(fd: number, identity: bigint): boolean {
  try {
    return statusOf(fd).identity === identity;
  } catch {
    return false; // EBADF
  }
}
