import { NULL } from "../../ffi/address.ts";
import * as gl from "../../ffi/gles/constants.ts";
import { checkGl, nativeError } from "./errors.ts";
import type { GlFormat } from "./formats.ts";
import { checks, gles } from "./library.ts";
import type { OpenContext } from "./open_context.ts";

export interface TextureClaim {
  readonly name: number;
  readonly argument: string;
  readonly format: GlFormat;
  readonly size: readonly [number, number];
}

/**
 * Throws unless a texture exists and has the size and format that the program claims. The context is current.
 * @throws {ArgumentError} for a name that is not a texture's.
 * @throws {NativeCallError} for a texture of another target than GL_TEXTURE_2D.
 * @throws {LayoutError} for another size or format.
 */
export function assertTexture({ facts }: OpenContext, claim: TextureClaim): void {
  const { name, argument, format: { pixel }, size } = claim;
  const known = gles().glIsTexture(name);
  checkGl("glIsTexture");
  if (known === 0) {
    throw checks.wrong(
      argument,
      `the context knows no texture ${name}.`,
      "A name is a texture's once glBindTexture has taken it. Attach to the context that made it: EglContext.attach().",
    );
  }
  gles().glBindTexture(gl.GL_TEXTURE_2D, name);
  checkGl("glBindTexture", { hint: `${argument}: expected a texture of the target GL_TEXTURE_2D.` });
  const other = facts.reportsLevels ? reportOf(claim) : trialOf(claim);
  if (other === undefined) return;
  const expected = `${size.join(" × ")} pixels of ${pixel.name}`;
  throw checks.unfit(
    argument,
    `expected a texture of ${expected}, got ${other}.`,
    "Wrap it with the size and the format that glTexImage2D or glTexStorage2D was called with, for its level 0.",
  );
}

const SIDES = [gl.GL_TEXTURE_WIDTH, gl.GL_TEXTURE_HEIGHT];
const BITS = [gl.GL_TEXTURE_RED_SIZE, gl.GL_TEXTURE_GREEN_SIZE, gl.GL_TEXTURE_BLUE_SIZE, gl.GL_TEXTURE_ALPHA_SIZE];
/** Formats with the same bits as RGBA's, in another order. */
const BLUE_FIRST: readonly number[] = [gl.GL_BGRA_EXT, gl.GL_BGRA8_EXT];

function reportOf({ format: { pixel, internal }, size }: TextureClaim): string | undefined {
  const ask = (what: number) => {
    const out = new Int32Array(1);
    gles().glGetTexLevelParameteriv!(gl.GL_TEXTURE_2D, 0, what, out);
    checkGl("glGetTexLevelParameteriv");
    return out[0];
  };
  const [order] = pixel.name.split(" ");
  const wanted = [..."rgba"].map((channel) => order.includes(channel) ? 8 * pixel.bytesPerPixel / pixel.elements : 0);
  const [sides, bits, stored] = [SIDES.map(ask), BITS.map(ask), ask(gl.GL_TEXTURE_INTERNAL_FORMAT)];
  const isHeld = `${sides} ${bits}` === `${size} ${wanted}` &&
    ask(gl.GL_TEXTURE_RED_TYPE) === gl.GL_UNSIGNED_NORMALIZED &&
    BLUE_FIRST.includes(stored) === BLUE_FIRST.includes(internal);
  if (isHeld) return undefined;
  const format = `0x${stored.toString(16)} (red, green, blue, alpha of ${bits.join(", ")} bits)`;
  return `${sides.join(" × ")} of the internal format ${format}`;
}

/**
 * Before OpenGL ES 3.1, probes with writes of zero pixels: GL refuses those outside the texture, or in another format.
 */
function trialOf({ format: { order, type }, size: [width, height] }: TextureClaim): string | undefined {
  const write = (x: number, y: number) => {
    gles().glTexSubImage2D(gl.GL_TEXTURE_2D, 0, x, y, 0, 0, order, type, NULL);
    return gles().glGetError();
  };
  const code = write(width, height);
  if (code === gl.GL_NO_ERROR) {
    if (write(width + 1, 0) !== gl.GL_NO_ERROR && write(0, height + 1) !== gl.GL_NO_ERROR) return undefined;
    return "a larger one";
  }
  return `one to which GL writes no such pixels (${nativeError(code, "glTexSubImage2D").codeName})`;
}
