/**
 * The simulated driver as Intel's: it imports dma-bufs, and its buffers are some. Here a dma-buf is a memfd, of which this
 * kernel says what it says of dma-bufs: the bytes are real, fences there are none. It has to be imported before OpenCL is
 * opened.
 *
 * @module
 */
import { driver, others, someFd } from "./simulated.ts"; // first: it taps the libraries
import { DMA_BUF_IOCTL_SYNC } from "../../../ffi/libc/constants.ts";
import { libc } from "../../../src/core/native/libc.ts";
import { cString } from "../../../src/core/native/text.ts";

driver.dmaBufs = true;

const FD_INFO = /^\/proc\/self\/fdinfo\/(\d+)$/;

type Open = (path: Uint8Array, flags: number, mode: number) => number;
type Ioctl = (fd: number, request: bigint, arg: unknown) => number;

others.set("libc", ({ open }) => ({
  open(path: Uint8Array, flags: number, mode: number) {
    const [, fd] = FD_INFO.exec(new TextDecoder().decode(path).replace("\0", "")) ?? [];
    return fd !== undefined && isMemfd(Number(fd))
      ? infoOf("exp_name:\tsimulated\n")
      : (open as Open)(path, flags, mode);
  },
}));

others.set("dmabuf", ({ ioctl }) => ({
  ioctl: (fd: number, request: bigint, arg: unknown) =>
    BigInt(request) === BigInt(DMA_BUF_IOCTL_SYNC) && isMemfd(fd) ? 0 : (ioctl as Ioctl)(fd, request, arg),
}));

/** The driver's memory: `someFd` names it so. */
function isMemfd(fd: number): boolean {
  try {
    return Deno.readLinkSync(`/proc/self/fd/${fd}`).startsWith("/memfd:of a driver");
  } catch {
    return false;
  }
}

/** An fd from which a text is read. */
function infoOf(text: string): number {
  const fd = libc().memfd_create(cString("fdinfo"), 0);
  Deno.writeTextFileSync(`/proc/self/fd/${fd}`, text);
  return fd;
}

/** Other code's dma-buf of so many bytes, which the caller closes. */
export function dmaBufOf(byteLength: number): number {
  const fd = someFd();
  libc().ftruncate(fd, BigInt(byteLength));
  return fd;
}
