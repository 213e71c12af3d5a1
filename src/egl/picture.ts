import { Printed } from "../core/printed.ts";
import { type Address, NULL } from "../../ffi/address.ts";
import {
  EGL_GL_RENDERBUFFER,
  EGL_GL_TEXTURE_2D,
  EGL_IMAGE_PRESERVED,
  EGL_NONE,
  EGL_TRUE,
} from "../../ffi/egl/constants.ts";
import * as gl from "../../ffi/gles/constants.ts";
import { owned } from "../core/life/ledger.ts";
import { type Undo, undoAll, undone } from "../core/life/undo.ts";
import type { FdFacts } from "../core/native/fd.ts";
import { check, checkGl, made, nativeError } from "./errors.ts";
import type { GlFormat } from "./formats.ts";
import { egl, gles, glesExtensions } from "./library.ts";
import type { OpenContext } from "./open_context.ts";

/** The kinds of GL objects for pixels. */
export type Storage = "texture" | "renderbuffer";

/** The origin of a picture: new memory, an `EGLImage` that it takes over, or a texture that stays its owner's. */
export type Origin =
  | { readonly from: "new"; readonly storage: Storage }
  | { readonly from: "image"; readonly image: Address }
  | { readonly from: "texture"; readonly name: number };

const GENERATE = { texture: "glGenTextures", renderbuffer: "glGenRenderbuffers" } as const;
const DELETE = { texture: "glDeleteTextures", renderbuffer: "glDeleteRenderbuffers" } as const;

/**
 * A picture of one plane: GL's texture or renderbuffer, and EGL's image of it. `name` is of the context's share group.
 * Made by `egl.image.allocate()`, and by maps.
 */
export class EglPicture extends Printed {
  /** The context that made it. For mappers. */
  readonly context: OpenContext;
  /** GL's format of its pixels. For mappers. */
  readonly format: GlFormat;
  /** Pixels across. */
  readonly width: number;
  /** Pixels down. */
  readonly height: number;
  /** The kind of GL object. */
  readonly storage: Storage;
  /** The name of the texture or renderbuffer. */
  readonly name: number;
  /** The number of maps that have handed it to other drivers: GL must not use it until they end. For backends. */
  lent = 0;
  /** Facts about the fd that the driver exports; undefined before the first export by fds. For backends. */
  fd: FdFacts | undefined;
  #image: Address | undefined;
  readonly #undo: Undo = [];

  /** Makes the texture. @throws {NativeCallError} if the driver refuses. */
  constructor(context: OpenContext, format: GlFormat, [width, height]: readonly [number, number], origin: Origin) {
    super();
    this.context = context;
    this.format = format;
    this.width = width;
    this.height = height;
    this.storage = origin.from === "new" ? origin.storage : "texture";
    if (origin.from === "texture") {
      this.name = origin.name;
      return;
    }
    try {
      if (origin.from === "image") this.#own(origin.image);
      this.name = context.within(() => this.#generate());
      context.within(() => origin.from === "image" ? this.#bindImage(origin.image) : this.#makeStorage());
    } catch (error) {
      throw undone(error, this.#undo, "making a picture");
    }
  }

  /** Its name in GL, and its size. */
  toString(): string {
    return `${this.storage} ${this.name} of ${this.width} × ${this.height}`;
  }

  /** The `EGLImage` of its pixels, made on first use. It ends with the picture. */
  get image(): Address {
    if (this.#image !== undefined) return this.#image;
    const target = this.storage === "texture" ? EGL_GL_TEXTURE_2D : EGL_GL_RENDERBUFFER;
    const attributes = BigInt64Array.from([EGL_IMAGE_PRESERVED, EGL_TRUE, EGL_NONE], BigInt);
    const { display, handle } = this.context;
    const name = BigInt(this.name) as Address;
    const fn = "eglCreateImage";
    // NVIDIA's driver (580.159) reports EGL_BAD_ACCESS for a context that is not current; Mesa's accepts it.
    return this.#own(
      this.context.within(() => made(egl()[fn](display.handle, handle, target, name, attributes), fn)),
    );
  }

  /** True for a picture of the same texture or renderbuffer. For mappers. */
  isSameAs({ storage, name }: EglPicture): boolean {
    return this.storage === storage && this.name === name;
  }

  /** Attaches its pixels to the context's framebuffer of a target, for a command. For backends. */
  attach(target: number): void {
    const at = gl.GL_COLOR_ATTACHMENT0;
    if (this.storage === "texture") gles().glFramebufferTexture2D(target, at, gl.GL_TEXTURE_2D, this.name, 0);
    else gles().glFramebufferRenderbuffer(target, at, gl.GL_RENDERBUFFER, this.name);
    const status = gles().glCheckFramebufferStatus(target);
    if (status === gl.GL_FRAMEBUFFER_COMPLETE) return;
    checkGl("glCheckFramebufferStatus");
    throw nativeError(status, "glCheckFramebufferStatus", {
      hint: `The driver cannot draw to pixels of ${this.format.pixel.name}: use RGBA.`,
    });
  }

  /** Ends the image and the texture. For backends. */
  free(): void {
    undoAll(this.#undo, "freeing a picture");
  }

  #own(image: Address): Address {
    const { handle: display } = this.context.display;
    owned("egl.EGLImage", this.#undo, () => check(egl().eglDestroyImage(display, image), "eglDestroyImage"));
    return this.#image = image;
  }

  #generate(): number {
    const { storage, context } = this;
    const names = new Uint32Array(1);
    gles()[GENERATE[storage]](1, names);
    checkGl(GENERATE[storage]);
    const kind = `egl.${storage}`;
    owned(kind, this.#undo, () => context.command(DELETE[storage], () => gles()[DELETE[storage]](1, names)));
    return names[0];
  }

  #makeStorage(): void {
    const { storage, name, width, height, format: { internal, order, type } } = this;
    if (storage === "renderbuffer") {
      gles().glBindRenderbuffer(gl.GL_RENDERBUFFER, name);
      gles().glRenderbufferStorage(gl.GL_RENDERBUFFER, internal, width, height);
      checkGl("glRenderbufferStorage");
    } else {
      this.#bind();
      gles().glTexImage2D(gl.GL_TEXTURE_2D, 0, internal, width, height, 0, order, type, NULL);
      checkGl("glTexImage2D");
    }
  }

  #bindImage(image: Address): void {
    this.#bind();
    glesExtensions().glEGLImageTargetTexture2DOES!(gl.GL_TEXTURE_2D, image);
    checkGl("glEGLImageTargetTexture2DOES", { hint: "The driver does not draw to an image of this format." });
  }

  /** Binds it and turns filtering off: the default filter needs mipmaps, which the texture does not have. */
  #bind(): void {
    gles().glBindTexture(gl.GL_TEXTURE_2D, this.name);
    gles().glTexParameteri(gl.GL_TEXTURE_2D, gl.GL_TEXTURE_MIN_FILTER, gl.GL_NEAREST);
    gles().glTexParameteri(gl.GL_TEXTURE_2D, gl.GL_TEXTURE_MAG_FILTER, gl.GL_NEAREST);
  }
}
