import type { Checks } from "../checks.ts";
import { croppedPlane, type PlaneLayout } from "./components.ts";
import { sizeOf } from "./dtype.ts";
import {
  type FrameInfo,
  frameInfo,
  IMAGE_FORMATS,
  type ImageFormat,
  imageInfo,
  type PictureInfo,
  planeLayouts,
} from "./frame_info.ts";
import { type Layout, layout } from "./layout.ts";

/** A picture as another library holds it, and says it. */
export interface HeldPicture extends Pick<PictureInfo, "planes" | "colour" | "media"> {
  /** The library's name of the format. */
  readonly name: string;
  /** Samepage's, if it has one for pictures of this size: see {@link fitting}. */
  readonly format: ImageFormat | undefined;
  /** The part that is shown. */
  readonly crop: Part;
  /** Bytes from a row of a plane to the next. */
  strideOf(plane: number): number;
  /** What that is called, for messages: `"linesize[0] of its AVFrame"`. */
  strideName(plane: number): string;
  /** What to do with a stride that is wrong. */
  readonly remedy?: string;
}

/** What a picture is, and the layout of each plane, counted from where it begins. @throws {LayoutError} for a wrong stride. */
export function heldPicture(checks: Checks, held: HeldPicture): { info: FrameInfo; planes: readonly PlaneLayout[] } {
  const { name, format, planes: formats, crop, colour, media, remedy } = held;
  const { width, height } = crop;
  const about = { ...media && { media }, ...colour && { colour } };
  const info = frameInfo(
    format === undefined
      ? { type: "picture", format: name, width, height, planes: formats, ...about }
      : { ...imageInfo({ format, width, height }), ...about },
  );
  const planes = planeLayouts(info).map((whole, i) => {
    const stride = held.strideOf(i);
    const least = whole.shape[1] * formats[i].elements * sizeOf(whole.dtype);
    if (stride >= least) return croppedPlane(formats[i], whole, crop, stride);
    const what = stride < 0
      ? "its rows go upwards in memory, and a layout's go downwards."
      : `a row has ${least} bytes.`;
    throw checks.unfit("pointer", `${held.strideName(i)} is ${stride}: ${what}`, remedy);
  });
  return { info, planes };
}

/** A part of a picture, in pixels. */
export interface Part {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/**
 * The part of a picture that is shown. Where a crop is odd, subsampled chroma begins half a step early.
 *
 * @param object what says so, for messages: `"AVFrame"`
 * @throws {LayoutError} for one that is empty, or not within the picture, or begins between pixels that have one place.
 */
export function partIn(
  checks: Checks,
  part: Part,
  { width, height }: { readonly width: number; readonly height: number },
  { name, planes: [{ step }] }: Pick<HeldPicture, "name" | "planes">, // more than 1 where luma and chroma take turns
  object: string,
): Part {
  const { left, top } = part;
  const isWithin = Math.min(left, top) >= 0 && left + part.width <= width && top + part.height <= height;
  if (isWithin && part.width > 0 && part.height > 0 && left % step === 0) return part;
  const shown = `${part.width} × ${part.height} from ${left}, ${top} on`;
  const there = `${width} × ${height} of ${name}${step === 1 ? "" : `, by ${step} pixels`}`;
  throw checks.unfit("pointer", `its ${object} shows ${shown}, and there are ${there}.`);
}

/** A format that stands for pictures of this size; undefined for one with an odd size. */
export function fitting(format: ImageFormat | undefined, width: number, height: number): ImageFormat | undefined {
  if (format === undefined) return undefined;
  const fits = IMAGE_FORMATS[format].planes.every(({ step, rows = step }) => width % step === 0 && height % rows === 0);
  return fits ? format : undefined;
}

/**
 * The layout of a plane in the block that it lies in, where it begins at byte `start`.
 *
 * @param name what the block is, for messages: `"a buffer of its AVFrame"`
 * @throws {LayoutError} if it ends behind the block, or elements would lie at addresses that they cannot have.
 */
export function layoutWithin(
  checks: Checks,
  { shape, dtype, strides, byteOffset }: PlaneLayout,
  start: number,
  { address, byteLength }: { readonly address: bigint; readonly byteLength: number },
  name: string,
): Layout {
  const size = sizeOf(dtype);
  if (address % BigInt(size) !== 0n) {
    throw checks.unfit("pointer", `${name} does not begin at a multiple of the ${size} bytes of ${dtype}.`);
  }
  const within = layout({ shape, dtype, strides, byteOffset: byteOffset + start });
  checks.assertWithin(within, byteLength, "pointer");
  return within;
}
