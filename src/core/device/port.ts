import { Printed } from "../printed.ts";
import { LayoutError } from "../errors.ts";
import { closeFd, statusOf } from "../native/fd.ts";
import type { PictureSize } from "../layout/pictures.ts";
import { undoAll } from "../life/undo.ts";

/**
 * How memory crosses to another API. The list is open: both sides of a port name the same kind. A host view is an address
 * that only the CPU may use, and only while the map lasts: where a driver has mapped the memory, or a copy of it.
 */
export type MemoryKind =
  | "host-pointer"
  | "host-view"
  | "memfd"
  | "dma-buf"
  | "opaque-fd"
  | "cl_mem"
  | "cuda-ipc"
  | (string & { readonly _?: never });

/**
 * How synchronization crosses to another driver: a sync file, which stands for one point of a line; or a semaphore by an
 * opaque fd, binary (each signal is for one wait) or a timeline (a value that only grows); or an `EGLSync`, a `GLsync`
 * or a recorded CUDA event by its handle, which stays its exporter's. The list is open: both sides of a port name the
 * same kind, and the name of a timeline begins with `timeline`.
 */
export type SyncKind =
  | ("sync-fd" | "binary-fd" | "timeline-fd")
  | ("egl-sync" | "gl-sync" | "cuda-event")
  | (string & { readonly _?: never });

/** The whole memory behind an opaque fd: no driver reports it, and importers have to name it. */
export interface WholeMemory {
  /** Its length in bytes. */
  readonly byteLength: number;
  /** The index of its type, if Vulkan made it. */
  readonly type?: number;
}

/** Fds that are files of the kernel itself, which identifies them. */
const FILES: readonly MemoryKind[] = ["memfd", "dma-buf"];

/** What is known of the memory behind an fd, whichever fd of it comes. */
export interface KnownMemory {
  /** The identity, which no other memory of the port's kind has. */
  readonly identity: bigint;
  /** Its length in bytes: a port may be a part of it. */
  readonly byteLength: number;
}

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
  /** Memory by an opaque fd: all of it. */
  readonly whole?: WholeMemory | undefined;
  /** For memory by another process's opaque fd, which has no identity of its own. @see Port.memory */
  readonly identity?: bigint | undefined;
}

/**
 * A handle of memory, or of a point of a line, on its way from one driver to another. It owns its fd until the other side
 * takes that. For backends.
 */
export class Port<K extends string = string> extends Printed implements Disposable {
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
  /** Memory by an opaque fd: all of it, if its exporter says so. */
  readonly whole: WholeMemory | undefined;
  readonly #identity: bigint | undefined;
  #fd: number | (() => number);

  /** Takes the fd over. */
  constructor(
    kind: K,
    { fd = -1, value = 0n, offset = 0, byteLength = 0, dedicated = false, whole, identity }: PortInit,
  ) {
    super();
    this.kind = kind;
    this.value = value;
    this.offset = offset;
    this.byteLength = byteLength;
    this.dedicated = dedicated;
    this.whole = whole;
    this.#identity = identity;
    this.#fd = fd;
  }

  /** True for what this class has made, and not for a proxy of it. For mappers. */
  static owns(value: object): boolean {
    return #fd in value;
  }

  /** Its kind and size. */
  toString(): string {
    return `port ${this.kind} of ${this.byteLength} bytes`;
  }

  /** The fd, which stays the port's; -1 if it has none. */
  get fd(): number {
    if (typeof this.#fd === "function") this.#fd = this.#fd();
    return this.#fd;
  }

  /** The memory behind the fd: from the kernel for a file, from the exporter for an opaque fd; undefined if unknown. */
  get memory(): KnownMemory | undefined {
    if (FILES.includes(this.kind)) {
      if (this.fd < 0) return undefined;
      const { identity, byteLength } = statusOf(this.fd);
      return { identity, byteLength: Number(byteLength) };
    }
    if (this.#identity === undefined) return undefined;
    const { byteLength } = this.whole ?? { byteLength: this.offset + this.byteLength };
    return { identity: this.#identity, byteLength };
  }

  /** The fd, which the caller owns from now on. */
  takeFd(): number {
    const { fd } = this;
    this.#fd = -1;
    return fd;
  }

  /**
   * Memory by an opaque fd: the length that an import has to name, in bytes. It is that of all of the memory, as its
   * exporter or the `block` of this process reports it; else no more is known than the port's own part. No driver checks
   * it.
   *
   * @throws {LayoutError} if the port ends behind it.
   */
  wholeLength(block: WholeMemory | undefined, api: string): number {
    const end = this.offset + this.byteLength;
    const whole = this.whole?.byteLength ?? block?.byteLength ?? end;
    if (end <= whole) return whole;
    throw new LayoutError(`source: it ends at byte ${end} of memory that has ${whole}.`, { api, argument: "source" });
  }

  /** Closes the fd, unless it was taken. */
  [Symbol.dispose](): void {
    if (typeof this.#fd === "number" && this.#fd >= 0) closeFd(this.takeFd());
  }
}

/** Where a plane of an image lies. */
export interface ImagePlane {
  /** Which of the port's objects it lies in. */
  readonly object: number;
  /** Where it begins there, in bytes. */
  readonly offset: number;
  /** Bytes from a row to the next, as the driver counts them. */
  readonly stride: number;
}

/** What an image port is made of. */
export interface ImagePortInit extends PictureSize {
  /** The objects that it lies in, each with its length; the port owns them. */
  readonly objects: readonly Port[];
  /** Where its planes lie: those of its format, then what else the modifier needs (compression). */
  readonly planes: readonly ImagePlane[];
  /** The DRM format modifier; undefined where only the same driver knows the order of the pixels. */
  readonly modifier?: bigint | undefined;
}

/**
 * A handle of an image, on its way from one driver to another: objects of memory, and where the planes lie in them. It
 * owns the objects until the other side takes their fds.
 */
export class ImagePort<K extends string = string> extends Printed implements PictureSize, Disposable {
  /** Its kind, which both sides name. */
  readonly kind: K;
  /** The objects that it lies in. */
  readonly objects: readonly Port[];
  /** Where its planes lie. */
  readonly planes: readonly ImagePlane[];
  /** Pixels across. */
  readonly width: number;
  /** Pixels down. */
  readonly height: number;
  /** The number of its layers, which lie in the driver's own order; undefined for one picture. */
  readonly layers: number | undefined;
  /** The DRM format modifier, all 64 bits; undefined where only the same driver knows the order of the pixels. */
  readonly modifier: bigint | undefined;

  /** Takes the objects over. */
  constructor(kind: K, init: ImagePortInit) {
    super();
    this.kind = kind;
    this.objects = init.objects;
    this.planes = init.planes;
    this.width = init.width;
    this.height = init.height;
    this.layers = init.layers;
    this.modifier = init.modifier;
  }

  /** Its kind and size. */
  toString(): string {
    return `image port ${this.kind} of ${this.width} × ${this.height}`;
  }

  /** Closes the fds that were not taken. */
  [Symbol.dispose](): void {
    undoAll(this.objects.map((object) => () => object[Symbol.dispose]()), "closing the fds of an image");
  }
}

/** A native object that may come again under another handle, as a dma-buf does under another fd. */
export interface KnownObject {
  /** The handle's name space, because handles of different kinds may be equal. For an fd, the kind of its port. */
  readonly kind: string;
  /** The handle: no other object of its kind that is alive has it. For an fd, device and inode. */
  readonly handle: bigint;
  /** Its length in bytes. */
  readonly byteLength: number;
  /** Where the port's bytes begin in it. */
  readonly start: number;
}

/** A block that a plane of an imported image lies in, where the importer's memory is such blocks: dma-bufs. */
export interface ImageBlock {
  /** The object, which no other map shares. */
  readonly object: KnownObject;
  /** Gives it back, once nothing uses it. */
  release(): void;
}
