import { PrintedTarget } from "../core/graph/context.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import type { Memory, MemoryTarget } from "../core/contract.ts";
import { type ImageInfo, imageInfo, type ImageInit, planeLayouts } from "../core/layout/frame_info.ts";
import { type Layout, moved, whole } from "../core/layout/layout.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { Allocation } from "../core/memory/allocation.ts";
import { adoptHandle, own } from "../core/memory/own.ts";
import { registerByHandle } from "../core/memory/peers.ts";
import type { Access } from "../core/memory/access.ts";
import { attaching, type AttachOptions } from "../core/tensors/adopt.ts";
import { Frame } from "../core/tensors/frame.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { assertMetadata, type Metadata } from "../core/tensors/metadata.ts";
import type { EglBase } from "./base.ts";
import { type GlFormat, heldFormats, planeSize } from "./formats.ts";
import { keepPicture } from "./image_ports.ts";
import { checks } from "./library.ts";
import { clearCall, portsOf } from "./memory.ts";
import { EglPicture, type Origin, type Storage } from "./picture.ts";
import { EglTensor } from "./tensor.ts";
import { assertTexture } from "./wrapped.ts";

/** The picture that {@link EglImages.allocate} makes. */
export interface EglImageInit extends ImageInit {
  /** The kind of GL object: a texture, which shaders can read, or a renderbuffer, which can only be drawn to. */
  readonly storage?: Storage;
  /** The frame's metadata. */
  readonly metadata?: Metadata;
}

const IMAGE: Names<ImageInit> = { format: true, width: true, height: true, modifier: true, colour: true };
const ALLOCATED: Names<EglImageInit> = { ...IMAGE, storage: true, metadata: true };
const STORAGES: { readonly [S in Storage]: unknown } = { texture: true, renderbuffer: true };

const TEXTURE = "egl.texture";

/** The images of a context, as a node of the graph: frames, whose planes are textures. */
export class EglImages extends PrintedTarget<EglBase> implements MemoryTarget<EglTensor> {
  /** The kind of memory. */
  readonly kind = "egl.image";
  /** Its ports. For mappers. */
  readonly ports: Memory<EglTensor, EglPicture>;

  /** Made by the context. */
  constructor(context: EglBase) {
    super(context);
    this.ports = portsOf(context);
  }

  /** True for tensors of this memory. */
  is(value: Mapped): value is EglTensor {
    return value instanceof EglTensor && value.target === this;
  }

  /**
   * Makes a zeroed picture. Each plane of its format is a texture of its own, which GL reads and draws to.
   *
   * @throws {LayoutError} for a format that GL lacks, and a size beyond its limits.
   * @throws {NativeCallError} if the driver refuses.
   *
   * @example
   * ```ts
   * import { EglContext } from "@samepage/interop/egl";
   *
   * using egl = EglContext.open();
   * using picture = egl.image.allocate({ format: "RGBA", width: 64, height: 32 });
   * egl.queue.fill(picture, [1, 0, 0, 1]);
   * const seen = new Uint8Array(64 * 32 * 4);
   * egl.queue.read(picture, seen);
   * console.log(seen.subarray(0, 4)); // Uint8Array(4) [ 255, 0, 0, 255 ]
   * ```
   */
  allocate(init: EglImageInit): Frame<EglTensor> {
    const { storage = "texture", metadata, ...image } = optionsIn(init, ALLOCATED, "init");
    checks.nameIn(storage, STORAGES, "storage");
    assertMetadata(metadata);
    const info = linear(imageInfo(image));
    if (storage === "renderbuffer" && info.format === "BGRA") {
      throw checks.wrong("storage", "OpenGL ES has no renderbuffers of BGRA.", 'Use { storage: "texture" }.');
    }
    return this.#frame(info, () => ({ from: "new", storage }), metadata);
  }

  /**
   * A picture over textures that the program made. They stay the program's, and have to outlive the picture.
   *
   * @param textures their names, one for each plane: `GL_TEXTURE_2D`, of the context's share group
   * @param init the format and size of their level 0, which the driver checks now: the textures need their storage already
   * @throws {ArgumentError} for another number of textures than the format has planes, and for names without a texture.
   * @throws {LayoutError} for a texture of another size or format. OpenGL ES before 3.1 reports no formats: there a
   * texture is refused if GL does not write such pixels to it.
   *
   * @example
   * ```ts
   * import { EglContext } from "@samepage/interop/egl";
   *
   * using theirs = EglContext.open(); // it stands for a program's own
   * using made = theirs.image.allocate({ format: "RGBA", width: 8, height: 4 });
   * using egl = EglContext.attach({ display: theirs.display, context: theirs.handle });
   * const textures = [made.planes[0].handle.name];
   * using picture = egl.image.attach(textures, { format: "RGBA", width: 8, height: 4 });
   * ```
   */
  attach(textures: readonly number[], init: ImageInit, options: AttachOptions = {}): Frame<EglTensor> {
    return attaching(options, (access) => this.#attached(textures, imageInfo(optionsIn(init, IMAGE, "init")), access));
  }

  /** {@link attach} for a checked description. For backends. */
  attachPicture(textures: readonly number[], info: ImageInfo, options: AttachOptions): Frame<EglTensor> {
    return attaching(options, (access) => this.#attached(textures, info, access));
  }

  #attached(textures: readonly number[], given: ImageInfo, access: Access | undefined): Frame<EglTensor> {
    const info = linear(given);
    const { length } = planeLayouts(info);
    if (!Array.isArray(textures) || textures.length !== length) {
      throw checks.wrong("textures", `expected the names of ${length} textures for ${info.format}.`);
    }
    const names = checks.itemsIn<number>(textures, "textures").map((name, i) => whole(name, `textures[${i}]`, 1));
    const { resource, openContext } = this.context;
    resource.assertLive();
    const claims = heldFormats(openContext, info).map((format, i) => (
      { name: names[i], argument: `textures[${i}]`, format, size: planeSize(info, format) }
    ));
    openContext.within(() => claims.forEach((claim) => assertTexture(openContext, claim)));
    return this.#frame(info, (i) => ({ from: "texture", name: names[i] }), undefined, access);
  }

  #frame(
    info: ImageInfo,
    originOf: (plane: number) => Origin,
    metadata: Metadata | undefined,
    access?: Access,
  ): Frame<EglTensor> {
    this.context.resource.assertLive();
    const formats = heldFormats(this.context.openContext, info);
    const layouts = planeLayouts(info);
    return allOrNothing("making a picture", (undo) => {
      const planes = formats.map((format, i) => {
        const plane = this.plane(format, planeSize(info, format), layouts[i], originOf(i), access);
        undo.push(() => plane[Symbol.dispose]());
        return plane;
      });
      return Frame.of(planes, info, metadata);
    });
  }

  /** A plane as a tensor that owns it; a new one is cleared. For backends. */
  plane(
    format: GlFormat,
    size: readonly [number, number],
    at: Layout,
    origin: Origin,
    access: Access = "read-write",
  ): EglTensor {
    const { line, openContext, resource: owner } = this.context;
    const layout = moved(at, 0); // each plane is an image of its own
    const handle = new EglPicture(openContext, format, size, origin);
    const undo: Undo = [() => handle.free()];
    return allOrNothing("making a picture", () => {
      const cleared = origin.from === "new" ? line.submitRaw(clearCall(handle, new Float32Array(4))) : undefined;
      if (cleared !== undefined) undo.push(() => line.block(cleared.mark));
      const { byteLength } = layout;
      const block = { kind: this.kind, byteLength, free: () => handle.free() };
      const key = openContext.handle << 32n | BigInt(handle.name);
      const allocation = origin.from === "texture"
        ? adoptHandle(TEXTURE, key, () => block).allocation
        : new Allocation(block);
      if (handle.storage === "texture") registerByHandle(TEXTURE, key, allocation);
      keepPicture(allocation, handle);
      const name = `egl image ${size[0]}×${size[1]} ${format.pixel.name}`;
      const ends = allocation.block === block ? [] : [() => handle.free()]; // the texture was known already
      const resource = own({ name, allocation, end: byteLength, access, owners: [owner], undo: ends });
      if (cleared !== undefined) resource.usedBy(cleared);
      return new EglTensor({ target: this, handle, layout, resource });
    }, undo);
  }
}

/** The driver decides how its own memory is tiled. */
function linear(info: ImageInfo): ImageInfo {
  if (info.modifier === 0n) return info;
  throw checks.wrong("modifier", "the driver decides how it tiles a new picture.", "Leave it out.");
}
