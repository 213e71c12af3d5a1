import { Printed } from "../printed.ts";
import type { PictureSize } from "../layout/pictures.ts";
import { undoAll } from "../life/undo.ts";
import type { KnownObject } from "../memory/peers.ts";
import type { Port } from "./port.ts";

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

/** A block that a plane of an imported image lies in, where the importer's memory is such blocks: dma-bufs. */
export interface ImageBlock {
  /** The object, which no other map shares. */
  readonly object: KnownObject;
  /** Gives it back; nothing uses it any more. */
  release(): void;
}
