import { closeFd } from "../native/fd.ts";

/** How memory crosses to another API. The list is open: both sides of a port name the same kind. */
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
 * How synchronization crosses to another driver: a sync file, which stands for one point of a line; or a semaphore by an
 * opaque fd, binary (each signal is for one wait) or a timeline (a value that only grows); or an `EGLSync` by its handle,
 * which stays its exporter's. The list is open: both sides of a port name the same kind, and the name of a timeline begins
 * with `timeline`.
 */
export type SyncKind = "sync-fd" | "binary-fd" | "timeline-fd" | "egl-sync" | (string & { readonly _?: never });

/** What a port is made of. */
export interface PortInit {
  /** The fd, which the port owns; or what makes it when it is asked for, since an import that is known needs none. */
  readonly fd?: number | (() => number);
  /** Memory: its address or handle. Synchronization: the value to wait for. */
  readonly value?: bigint;
  /** Memory: the offset of its first byte from the handle. */
  readonly offset?: number;
  /** Memory: its length in bytes. */
  readonly byteLength?: number;
  /** Memory: true if it was allocated for one object alone, and has to be imported so. */
  readonly dedicated?: boolean;
}

/**
 * A handle of memory, or of a point of a line, on its way from one driver to another. It owns its fd until the other side
 * takes that. For those who write backends.
 */
export class Port<K extends string = string> implements Disposable {
  /** Its kind, which both sides name. */
  readonly kind: K;
  /** Memory: its address or handle. Synchronization: the value to wait for. */
  readonly value: bigint;
  /** Memory: the offset of its first byte from the handle. */
  readonly offset: number;
  /** Memory: its length in bytes. */
  readonly byteLength: number;
  /** Memory: true if it was allocated for one object alone, and has to be imported so. */
  readonly dedicated: boolean;
  #fd: number | (() => number);

  /** Takes the fd over. */
  constructor(kind: K, { fd = -1, value = 0n, offset = 0, byteLength = 0, dedicated = false }: PortInit) {
    this.kind = kind;
    this.value = value;
    this.offset = offset;
    this.byteLength = byteLength;
    this.dedicated = dedicated;
    this.#fd = fd;
  }

  /** The fd, which stays the port's; -1 if it has none. */
  get fd(): number {
    if (typeof this.#fd === "function") this.#fd = this.#fd();
    return this.#fd;
  }

  /** The fd, which the caller owns from now on. */
  takeFd(): number {
    const { fd } = this;
    this.#fd = -1;
    return fd;
  }

  /** Closes the fd, unless it was taken. */
  [Symbol.dispose](): void {
    if (typeof this.#fd === "number" && this.#fd >= 0) closeFd(this.takeFd());
  }
}
