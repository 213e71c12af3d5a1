import { closeFd } from "../native/fd.ts";

/**
 * How a point of a line crosses to another driver. A kind that begins with `timeline` names one object whose value only
 * grows; every other kind is reached once. The list is open: both sides of a port name the same kind.
 */
export type SyncKind = "timeline-fd" | "sync-fd" | (string & { readonly _?: never });

/** What a port is made of. */
export interface PortInit {
  /** The fd; the port owns it. */
  readonly fd?: number;
  /** The value to wait for. */
  readonly value?: bigint;
}

/** A file descriptor on its way from one driver to another. Who takes it owns it; what nobody took is closed here. */
export class Port<K extends string = string> implements Disposable {
  /** How the other side has to read it. */
  readonly kind: K;
  /** The value to wait for. */
  readonly value: bigint;
  #fd: number;

  /** Takes the fd over. */
  constructor(kind: K, { fd = -1, value = 0n }: PortInit) {
    this.kind = kind;
    this.value = value;
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
