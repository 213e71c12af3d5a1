import { Printed } from "../printed.ts";
import type { PictureSize } from "../layout/pictures.ts";
import type { PixelFormat } from "../layout/pixel_formats.ts";
import type { Described } from "../tensors/described.ts";
import type { Mapped } from "../tensors/mapped.ts";
import type { Access } from "../memory/access.ts";
import type { Refusal } from "../errors.ts";
import { undoAll } from "../life/undo.ts";
import type { Crossing, KnownObject, Offer } from "./memory.ts";
import type { MemoryKind, Port } from "./port.ts";

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

/** An image on its way out of one kind of memory. */
export interface ExportedImage extends Crossing {
  /** The port that the other side imports. */
  readonly port: ImagePort;
}

/** A block that a plane of an imported image lies in, where the importer's memory is such blocks: dma-bufs. */
export interface ImageBlock {
  /** What tells it from others. */
  readonly object: KnownObject;
  /** Gives it back; nothing uses it any more. */
  release(): void;
}

/** The same image in another kind of memory. */
export interface ImportedImage<H = unknown> extends Crossing {
  /** What the tensor of each plane is made with. */
  readonly handles: readonly H[];
  /**
   * The blocks that the planes lie in, one for each object of the port, where rows and planes are what the port says. Left
   * out by drivers whose images are objects of their own: then `release` gives that back.
   */
  readonly blocks?: readonly ImageBlock[];
}

/**
 * The image ports of one kind of memory, beside those of its bytes: mechanism only, as {@link Memory}. `graph.map` has an
 * edge wherever one kind exports images that the other imports. It takes a frame as a whole, whether its planes lie in one
 * block or in several.
 */
export interface Images<H = unknown> {
  /** Its exports, the best first. */
  readonly exports: readonly Offer<Described>[];
  /** Its imports. */
  readonly imports: readonly Offer<Described>[];
  /** True where an image has one plane, as a target: frames are refused. */
  readonly onePlane?: boolean;
  /** The format of the pixels of its own image, where that has one plane and its driver knows it. */
  formatOf?(source: Described): PixelFormat | undefined;
  /**
   * Why it cannot map this image now, as source or as target: its format, its size. Makes no native call. `format` is what
   * the source's driver says of its pixels, where it knows: a layout does not say what comes first, red or blue.
   */
  refuse?(source: Described, access: Access, format?: PixelFormat): Omit<Refusal, "edge"> | undefined;
  /** A port to an image, for an access by the other side. */
  export?(source: Mapped, kind: MemoryKind, access: Access): ExportedImage;
  /** The image of a port, which is the source's. It takes the fds that it uses; the others are closed. */
  import?(port: ImagePort, access: Access, source: Described): ImportedImage<H>;
}
