import { LayoutError } from "../errors.ts";
import type { Layout } from "./layout.ts";

/** The size of a picture, or of an array of pictures of one size. */
export interface PictureSize {
  /** Pixels along x. */
  readonly width: number;
  /** Pixels along y. */
  readonly height: number;
  /** The number of pictures in an array, whose layers they are; undefined for a picture by itself. */
  readonly layers?: number | undefined;
}

/**
 * A shape as that of pictures: `[height, width, channels]`, or `[layers, height, width, channels]` for an array. The
 * channels may be left out where a pixel is one element; a last dimension of 1 counts as the channels. Undefined for any
 * other shape.
 * @param elements the elements of a pixel
 */
export function pictureIn(shape: readonly number[], elements: number): PictureSize | undefined {
  const [last] = shape.slice(2).slice(-1);
  const pixels = elements > 1 || last === 1 ? shape.slice(0, -1) : shape;
  if (elements > 1 && shape.at(-1) !== elements) return undefined;
  const [width, height, layers] = [...pixels].reverse();
  return pixels.length === 2 || pixels.length === 3 ? { width, height, layers } : undefined;
}

/** No API has images that are parts of others. `hint` says what to do instead. @throws {LayoutError} */
export function assertWhole(
  part: Layout,
  { layout: own, name }: { readonly layout: Layout; readonly name: string },
  api: string,
  hint: string,
): void {
  const same = part.dtype === own.dtype && part.byteOffset === own.byteOffset &&
    `${part.shape}` === `${own.shape}` && `${part.strides}` === `${own.strides}`;
  if (same) return;
  throw new LayoutError(`init: ${name} is an image, which has no parts.`, {
    ...{ api, argument: "init", hint },
  });
}
