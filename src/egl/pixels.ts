import * as gl from "../../ffi/gles/constants.ts";
import { pinned } from "../core/native/pin.ts";
import { checkGl } from "./errors.ts";
import { gles } from "./library.ts";
import type { EglPicture } from "./picture.ts";

// Each function submits commands to the current context, and sets all the GL state that they depend on, because a program's
// own commands may have changed it.

/** Settings for memory without gaps. With a skip, GL would access memory past the end. */
const PACKED = [gl.GL_PACK_ROW_LENGTH, gl.GL_PACK_SKIP_ROWS, gl.GL_PACK_SKIP_PIXELS];
const UNPACKED = [gl.GL_UNPACK_ROW_LENGTH, gl.GL_UNPACK_SKIP_ROWS, gl.GL_UNPACK_SKIP_PIXELS];

export function readPixels(from: EglPicture, into: Uint8Array<ArrayBuffer>): void {
  const { width, height, format: { pixel, order, type } } = from;
  framebuffer(from, gl.GL_READ_FRAMEBUFFER);
  gles().glBindBuffer(gl.GL_PIXEL_PACK_BUFFER, 0);
  gles().glPixelStorei(gl.GL_PACK_ALIGNMENT, 1);
  for (const name of PACKED) gles().glPixelStorei(name, 0);
  const read = (order: number, bytes: Uint8Array<ArrayBuffer>) =>
    pinned(bytes, "egl", (address) => gles().glReadPixels(0, 0, width, height, order, type, address));
  if (isReadAs(order, type)) return read(order, into);
  // OpenGL ES reads every format as RGBA, and not every one as itself.
  const channel = pixel.bytesPerPixel / pixel.elements;
  const all = new Uint8Array(width * height * 4 * channel);
  read(gl.GL_RGBA, all);
  const places = [..."rgba"].map((name) => pixel.name.split(" ")[0].indexOf(name));
  for (let i = 0; i < width * height; i++) {
    places.forEach((place, c) => {
      if (place < 0) return;
      const first = (4 * i + c) * channel;
      into.set(all.subarray(first, first + channel), i * pixel.bytesPerPixel + place * channel);
    });
  }
}

/** Writes pixels in the form that {@link readPixels} reads. The memory can be reused when this returns. */
export function writePixels(to: EglPicture, from: Uint8Array<ArrayBuffer>): void {
  const { width, height, format: { order, type }, name } = to;
  gles().glBindBuffer(gl.GL_PIXEL_UNPACK_BUFFER, 0);
  gles().glPixelStorei(gl.GL_UNPACK_ALIGNMENT, 1);
  for (const name of UNPACKED) gles().glPixelStorei(name, 0);
  gles().glBindTexture(gl.GL_TEXTURE_2D, name);
  pinned(
    from,
    "egl",
    (address) => gles().glTexSubImage2D(gl.GL_TEXTURE_2D, 0, 0, 0, width, height, order, type, address),
  );
}

export function clearPixels(to: EglPicture, colour: ArrayBufferView<ArrayBuffer>): void {
  framebuffer(to, gl.GL_DRAW_FRAMEBUFFER);
  gles().glClearBufferfv(gl.GL_COLOR, 0, colour);
}

export function copyPixels(from: EglPicture, to: EglPicture): void {
  framebuffer(from, gl.GL_READ_FRAMEBUFFER);
  framebuffer(to, gl.GL_DRAW_FRAMEBUFFER);
  blit(from);
}

/** Draws a picture to the current surface, unflipped: GL's first row becomes the stream's first row. */
export function showPixels(from: EglPicture): void {
  toSurface();
  framebuffer(from, gl.GL_READ_FRAMEBUFFER);
  blit(from);
}

function blit({ width, height }: EglPicture): void {
  const box = [0, 0, width, height] as const;
  gles().glBlitFramebuffer(...box, ...box, gl.GL_COLOR_BUFFER_BIT, gl.GL_NEAREST);
}

/** Makes GL draw to the current surface: a context that was made without a surface draws to none. */
export function toSurface(): void {
  gles().glBindFramebuffer(gl.GL_DRAW_FRAMEBUFFER, 0);
  gles().glDrawBuffers(1, Uint32Array.of(gl.GL_BACK));
}

export function framebuffer(picture: EglPicture, target: number): void {
  const { framebuffers: [reading, drawing] } = picture.context;
  gles().glBindFramebuffer(target, target === gl.GL_READ_FRAMEBUFFER ? reading : drawing);
  picture.attach(target);
  gles().glDisable(gl.GL_SCISSOR_TEST);
  gles().glDisable(gl.GL_RASTERIZER_DISCARD); // which would discard clears too
  gles().glColorMask(1, 1, 1, 1);
}

/** True if the driver returns the framebuffer's pixels in this form. RGBA always works. */
function isReadAs(order: number, type: number): boolean {
  if (order === gl.GL_RGBA || order === gl.GL_BGRA_EXT) return true; // BGRA by GL_EXT_read_format_bgra
  const [form, of] = [new Int32Array(1), new Int32Array(1)];
  gles().glGetIntegerv(gl.GL_IMPLEMENTATION_COLOR_READ_FORMAT, form);
  gles().glGetIntegerv(gl.GL_IMPLEMENTATION_COLOR_READ_TYPE, of);
  checkGl("glGetIntegerv");
  return form[0] === order && of[0] === type;
}
