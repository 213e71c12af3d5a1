import { closeFd } from "../native/fd.ts";

/** How memory crosses to another API: what a handle of it is. The list is open: both sides of a port name the same kind. */
export type MemoryKind =
  | "host-pointer"
  | "memfd"
  | "dma-buf"
  | "opaque-fd"
  | "cl_mem"
  | "cuda-ipc"
  | "dlpack"
  | (string & { readonly _?: never });

/**
 * How a point of a line crosses to another driver. A kind that begins with `timeline` names one object whose value only
 * grows; every other kind is reached once. The list is open: both sides of a port name the same kind.
 */
export type SyncKind = "timeline-fd" | "sync-fd" | (string & { readonly _?: never });

/** What a port is made of. */
export interface PortInit {
  /** The fd; the port owns it. */
  readonly fd?: number;
  /** Memory: its address or handle. Synchronization: the value to wait for. */
  readonly value?: bigint;
  /** Memory: where its first byte lies, counted from the handle. */
  readonly offset?: number;
  /** Memory: how many bytes there are. */
  readonly byteLength?: number;
}

/**
 * A handle of memory, or of a point of a line, on its way from one driver to another. Who takes an fd owns it; one that
 * nobody took is closed here. For those who write backends.
 */
export class Port<K extends string = string> implements Disposable {
  /** How the other side has to read it. */
  readonly kind: K;
  /** Memory: its address or handle. Synchronization: the value to wait for. */
  readonly value: bigint;
  /** Where the memory's first byte lies, counted from the handle. */
  readonly offset: number;
  /** How many bytes there are. */
  readonly byteLength: number;
  #fd: number;

  /** Takes the fd over. */
  constructor(kind: K, { fd = -1, value = 0n, offset = 0, byteLength = 0 }: PortInit) {
    this.kind = kind;
    this.value = value;
    this.offset = offset;
    this.byteLength = byteLength;
    this.#fd = fd;
  }

  /** The fd, for good: the caller closes it, or hands it to a driver that does. */
  takeFd(): number {
    const fd = this.#fd;
    this.#fd = -1;
    return fd;
  }

  /** Closes the fd, unless it was taken. */
  [Symbol.dispose](): void {
    if (this.#fd >= 0) closeFd(this.takeFd());
  }
}
