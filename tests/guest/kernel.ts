/**
 * What the guest's tests ask of the kernel themselves: its objects by their ioctls, with no code of samepage's.
 *
 * @module
 */

import { assert } from "@std/assert";

const libc = Deno.dlopen("libc.so.6", {
  memfd_create: { parameters: ["buffer", "u32"], result: "i32" },
  ftruncate: { parameters: ["i32", "i64"], result: "i32" },
  fcntl: { parameters: ["i32", "i32", "i32"], result: "i32" },
  open: { parameters: ["buffer", "i32"], result: "i32" },
  ioctl: { parameters: ["i32", "u64", "buffer"], result: "i32" },
  poll: { parameters: ["buffer", "u64", "i32"], result: "i32" },
  mmap: { parameters: ["pointer", "usize", "i32", "i32", "i32", "i64"], result: "pointer" },
  munmap: { parameters: ["pointer", "usize"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
}).symbols;

const O_RDWR_CLOEXEC = 0o2000002;
const MFD_CLOEXEC_ALLOW_SEALING = 3;
const F_ADD_SEALS = 1033;
const F_SEAL_SHRINK = 2;
const PROT_READ_WRITE = 3;
const MAP_SHARED = 1;
const POLL = { readable: 1, writable: 4 } as const;

const UDMABUF_CREATE = 0x40187542;
const DMA_HEAP_IOCTL_ALLOC = 0xc0184800;
const DMA_BUF_IOCTL_EXPORT_SYNC_FILE = 0xc0086202;
const DRM_IOCTL_PRIME_FD_TO_HANDLE = 0xc00c642e;
const DRM_IOCTL_VGEM_FENCE_ATTACH = 0xc0106441;
const DRM_IOCTL_VGEM_FENCE_SIGNAL = 0x40086442;

/** What is done to memory, and what kernels call it: DMA_BUF_SYNC_READ, VGEM_FENCE_WRITE … */
type Access = "read" | "write";

/** An fd that closes itself. */
export class Fd implements Disposable {
  constructor(readonly fd: number) {
    assert(fd >= 0, "expected an fd from the kernel");
  }

  /** Opens a node. */
  static open(path: string): Fd {
    return new Fd(libc.open(cString(path), O_RDWR_CLOEXEC));
  }

  /** Does poll(2) answer at once? */
  is(what: keyof typeof POLL): boolean {
    const pollfd = new DataView(new ArrayBuffer(8));
    pollfd.setInt32(0, this.fd, true);
    pollfd.setInt16(4, POLL[what], true);
    libc.poll(new Uint8Array(pollfd.buffer), 1n, 0);
    return pollfd.getInt16(6, true) === POLL[what];
  }

  /** Passes a struct to ioctl(2), which has to succeed and may write to it. A number of 64 bits is two of its words. */
  ioctl(request: number, struct: Uint32Array<ArrayBuffer>): number {
    const result = libc.ioctl(this.fd, BigInt(request), new Uint8Array(struct.buffer));
    assert(result >= 0, `ioctl 0x${request.toString(16)} failed`);
    return result;
  }

  /** Its first bytes. */
  map(length: number): Mapping {
    return new Mapping(this.fd, length);
  }

  [Symbol.dispose](): void {
    libc.close(this.fd);
  }
}

/** Bytes behind an fd, until they are unmapped. */
class Mapping implements Disposable {
  readonly #address: Deno.PointerObject;
  readonly bytes: Uint8Array;

  constructor(fd: number, readonly length: number) {
    const address = libc.mmap(null, BigInt(length), PROT_READ_WRITE, MAP_SHARED, fd, 0n);
    assert(address !== null && Deno.UnsafePointer.value(address) !== 2n ** 64n - 1n, "mmap failed");
    this.#address = address;
    this.bytes = new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(address, length));
  }

  [Symbol.dispose](): void {
    libc.munmap(this.#address, BigInt(this.length));
  }
}

/** Memory with a name, sealed as a udmabuf wants it. */
export function makeMemfd(length: number): Fd {
  const memfd = new Fd(libc.memfd_create(cString("samepage-guest"), MFD_CLOEXEC_ALLOW_SEALING));
  assert(libc.ftruncate(memfd.fd, BigInt(length)) === 0, "ftruncate failed");
  assert(libc.fcntl(memfd.fd, F_ADD_SEALS, F_SEAL_SHRINK) === 0, "the seal was refused");
  return memfd;
}

/** A dma-buf over all of a memfd. */
export function makeUdmabuf(memfd: Fd, length: number): Fd {
  using device = Fd.open("/dev/udmabuf");
  return new Fd(device.ioctl(UDMABUF_CREATE, Uint32Array.of(memfd.fd, 1, 0, 0, length, 0)));
}

/** A dma-buf of a DMA heap. */
export function allocateFromHeap(name: string, length: number): Fd {
  using heap = Fd.open(`/dev/dma_heap/${name}`);
  const allocation = Uint32Array.of(length, 0, 0, O_RDWR_CLOEXEC, 0, 0);
  heap.ioctl(DMA_HEAP_IOCTL_ALLOC, allocation);
  return new Fd(allocation[2]);
}

/** The fences of a dma-buf that such an access has to wait for, as a sync file. */
export function exportSyncFile(dmabuf: Fd, access: Access): Fd {
  const answer = Uint32Array.of(access === "read" ? 1 : 2, 0);
  dmabuf.ioctl(DMA_BUF_IOCTL_EXPORT_SYNC_FILE, answer);
  return new Fd(answer[1]);
}

/** A fence of vgem's on any dma-buf, as of a device that reads or writes it until the test ends its work. */
export class VgemFence implements Disposable {
  readonly #device = Fd.open("/dev/dri/card0");
  readonly #fence: number;

  constructor(dmabuf: Fd, access: Access) {
    const imported = Uint32Array.of(0, 0, dmabuf.fd);
    this.#device.ioctl(DRM_IOCTL_PRIME_FD_TO_HANDLE, imported);
    const attached = Uint32Array.of(imported[0], access === "write" ? 1 : 0, 0, 0);
    this.#device.ioctl(DRM_IOCTL_VGEM_FENCE_ATTACH, attached);
    this.#fence = attached[2];
  }

  /** The access has ended. vgem says so by itself after 10 seconds; then this fails. */
  signal(): void {
    this.#device.ioctl(DRM_IOCTL_VGEM_FENCE_SIGNAL, Uint32Array.of(this.#fence, 0));
  }

  /** Closes the device, which signals the fence. */
  [Symbol.dispose](): void {
    this.#device[Symbol.dispose]();
  }
}

function cString(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}
