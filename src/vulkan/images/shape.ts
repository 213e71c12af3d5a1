import { LayoutError } from "../../core/errors.ts";
import { type Layout, layout } from "../../core/layout/layout.ts";
import type { PixelFormat } from "../../core/layout/pixel_formats.ts";
import type { ImageAbility } from "./abilities.ts";

/** Pixels along x and y. */
export interface Size {
  /** Along x. */
  readonly width: number;
  /** Along y. */
  readonly height: number;
}

/**
 * A shape as that of an image: `[height, width, channels]`; `[height, width]` will do where a pixel is one element.
 *
 * @throws {LayoutError} for any other shape.
 */
export function pixelsIn(shape: readonly number[], { name, dtype, elements }: PixelFormat): Layout & Size {
  const at = layout({ shape, dtype });
  const [height, width, channels = 1] = at.shape;
  if (at.shape.length >= 2 && at.shape.length <= 3 && channels === elements) return { ...at, width, height };
  const expected = `[height, width${elements === 1 ? "]" : `, ${elements}]`}`;
  throw wrongShape(`expected ${expected} for pixels of ${name}, got [${at.shape.join(", ")}].`);
}

/** Throws for more pixels than a device's images have. @throws {LayoutError} */
export function assertSize({ width, height }: Size, { maxWidth, maxHeight }: ImageAbility, device: string): void {
  if (width <= maxWidth && height <= maxHeight) return;
  throw wrongShape(`${width} × ${height} pixels are more than the ${maxWidth} × ${maxHeight} of ${device}.`);
}

function wrongShape(what: string): LayoutError {
  return new LayoutError(`shape: ${what}`, { api: "vulkan", argument: "shape" });
}
