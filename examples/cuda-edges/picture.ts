/**
 * The pictures that edges are found in.
 *
 * @module
 */
import { grey } from "../edges/host.ts";

/** A picture, in grey and in colour: the steps of the demo begin with colour, those of CUDA with grey. */
export interface Picture {
  /** What it shows. */
  readonly name: string;
  /** Pixels in a row. */
  readonly width: number;
  /** Rows. */
  readonly height: number;
  /** One byte a pixel, row by row. */
  readonly grey: Uint8Array;
  /** The same as 8-bit RGBA. */
  readonly rgba: Uint8Array<ArrayBuffer>;
}

/** Vertical stripes of eight pixels, dark and bright in turn. */
export function stripes(width = 640, height = 480): Picture {
  const rgba = new Uint8Array(4 * width * height).fill(255);
  for (let i = 0; i < width * height; i++) {
    const x = i % width;
    rgba.fill(Math.floor(x / 8) % 2 === 1 ? 220 : 35, 4 * i, 4 * i + 3);
  }
  return pictureOf("stripes of 8 pixels, 35 and 220 in turn", width, height, rgba);
}

/** A photograph; sharp, which decodes it, is loaded here and not before. */
export async function photograph(path: string): Promise<Picture> {
  const { readPhoto } = await import("../edges/photo.ts");
  const { width, height, rgba } = await readPhoto(path);
  return pictureOf(path, width, height, rgba);
}

function pictureOf(name: string, width: number, height: number, rgba: Uint8Array<ArrayBuffer>): Picture {
  return { name, width, height, rgba, grey: grey(rgba, width, height) };
}
