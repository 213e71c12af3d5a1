import type { LayoutError } from "../../core/errors.ts";
import { type Layout, layout } from "../../core/layout/layout.ts";
import { pictureIn, type PictureSize } from "../../core/layout/pictures.ts";
import type { PixelFormat } from "../../core/layout/frame_info.ts";
import type { ImageAbility } from "./abilities.ts";
import { checks } from "../library.ts";

/**
 * The size and layout of an image from its shape: `[height, width, channels]`, or `[layers, height, width, channels]`. The
 * channels may be left out if a pixel is one element.
 * @throws {LayoutError} for any other shape.
 */
export function pixelsIn(shape: readonly number[], { name, dtype, elements }: PixelFormat): Layout & PictureSize {
  const at = layout({ shape, dtype });
  const size = pictureIn(at.shape, elements);
  if (size !== undefined) return { ...at, ...size };
  const expected = `${described(elements)} or ${described(elements, "layers, ")} for pixels of ${name}`;
  throw wrongShape(`expected ${expected}, got [${at.shape.join(", ")}].`);
}

export function described(elements: number, layers = ""): string {
  return `[${layers}height, width${elements === 1 ? "" : `, ${elements}`}]`;
}

type Most = Pick<ImageAbility, "maxWidth" | "maxHeight" | "maxLayers">;

/** @throws {LayoutError} for more pixels or layers than the device's images have. */
export function assertSize({ width, height, layers = 1 }: PictureSize, ability: Most, device: string): void {
  const { maxWidth, maxHeight, maxLayers } = ability;
  if (width > maxWidth || height > maxHeight) {
    throw wrongShape(`${width} × ${height} pixels are more than the ${maxWidth} × ${maxHeight} of ${device}.`);
  }
  if (layers > maxLayers) throw wrongShape(`${layers} layers are more than the ${maxLayers} of ${device}.`);
}

function wrongShape(what: string): LayoutError {
  return checks.unfit("shape", what);
}
