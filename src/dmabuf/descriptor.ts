import { F_GET_SEALS } from "../../ffi/libc/constants.ts";
import { isDmaBuf, type KindOfFile, kindOfFile, lengthOfFd, statusOf } from "../core/native/fd.ts";
import { libc } from "../core/native/libc.ts";
import { checks } from "./library.ts";

export interface Descriptor {
  /** Equal for all fds of one buffer. */
  readonly identity: bigint;
  readonly byteLength: number;
}

const HINTS: { readonly [K in KindOfFile]: string } = {
  "a pipe": "A pipe has no memory. Send the dma-buf's own fd over a Unix socket, and attach that.",
  "a socket": "A dma-buf comes through a socket beside a message (SCM_RIGHTS): attach the fd that came.",
  "a regular file": "Only a driver makes dma-bufs: read the file into dmabuf.allocate().",
  "a device": "Ask the device for a buffer: dmabuf.allocate({ from: … }) knows some.",
  "another kind of fd": "Ask the driver that made the memory to export it as a dma-buf.",
};

/** `isOne` is true for an fd that a driver has just made. @throws {ArgumentError} for an fd that is not a dma-buf. */
export function describe(fd: number, isOne: boolean): Descriptor {
  const { identity, mode } = statusOf(fd);
  if (!isOne && !isDmaBuf(fd)) throw noDmaBuf(fd, mode);
  return { identity, byteLength: lengthOfFd(fd) };
}

function noDmaBuf(fd: number, mode: number): Error {
  if (libc().fcntl(fd, F_GET_SEALS, 0) >= 0) {
    const hint = "host.attach() takes it. Map that tensor to dmabuf: /dev/udmabuf makes a dma-buf of a memfd.";
    return checks.wrong("fd", "expected a dma-buf, got a memfd.", hint);
  }
  const kind = kindOfFile(mode);
  return checks.wrong("fd", `expected a dma-buf, got ${kind}.`, HINTS[kind]);
}
