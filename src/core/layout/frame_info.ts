import { literal, type Names, object, optionsIn } from "../argument.ts";
import { type DType, sizeOf } from "./dtype.ts";
import { LayoutError } from "../errors.ts";
import { withJson } from "../json.ts";
import { type Layout, layout, moved, whole } from "./layout.ts";
import { IMAGE_FORMATS, type ImageFormat } from "./pixel_formats.ts";

/** How an image's numbers encode colours. */
export interface Colour {
  /** The matrix between RGB and YCbCr. */
  readonly matrix?: "bt601" | "bt709" | "bt2020";
  /** Whether luma uses 16–235 or 0–255. */
  readonly range?: "limited" | "full";
}

/** What a frame of pixels is. */
export interface ImageInfo {
  /** Distinguishes it from {@link AudioInfo}. */
  readonly type: "image";
  /** The pixel format. */
  readonly format: ImageFormat;
  /** Pixels across. */
  readonly width: number;
  /** Pixels down. */
  readonly height: number;
  /** The DRM fourcc of the format. */
  readonly fourcc: number;
  /** The DRM format modifier, all 64 bits; 0 is linear. */
  readonly modifier: bigint;
  /** How its numbers encode colours, if that is known. */
  readonly colour?: Colour;
}

/** What a frame of sound is. */
export interface AudioInfo {
  /** Told from {@link ImageInfo} by this. */
  readonly type: "audio";
  /** The type of one sample. */
  readonly format: DType;
  /** Samples a second. */
  readonly sampleRate: number;
  /** How many channels. */
  readonly channels: number;
  /** Samples in each channel. */
  readonly samples: number;
  /** One plane with the channels in turn, or a plane a channel. */
  readonly layout: "interleaved" | "planar";
}

/** What a frame is. */
export type FrameInfo = ImageInfo | AudioInfo;

const MOST_PLANES = 64;

/** What {@link imageInfo} needs to know. */
export interface ImageInit {
  /** The pixel format. */
  readonly format: ImageFormat;
  /** Pixels across. */
  readonly width: number;
  /** Pixels down. */
  readonly height: number;
  /** The DRM format modifier; linear by default. */
  readonly modifier?: bigint;
  /** How its numbers stand for colours. */
  readonly colour?: Colour;
}

const NAMES: Names<ImageInit> = { format: true, width: true, height: true, modifier: true, colour: true };

/**
 * Checks the description of an image, and fills in its fourcc.
 *
 * @throws {LayoutError} for an unknown format, or a size that its subsampling does not allow.
 */
export function imageInfo(init: ImageInit): ImageInfo {
  return image(optionsIn(init, NAMES, "init"));
}

function image({ format: name, width, height, modifier = 0n, colour }: ImageInit): ImageInfo {
  if (typeof name !== "string" || !Object.hasOwn(IMAGE_FORMATS, name)) {
    throw new LayoutError(`format: expected a pixel format, got ${literal(name)}.`, {
      api: "core",
      argument: "format",
      hint: `Use one of ${Object.keys(IMAGE_FORMATS).join(", ")}.`,
    });
  }
  const format = IMAGE_FORMATS[name];
  for (const [argument, pixels] of [["width", width], ["height", height]] as const) {
    whole(pixels, argument, 1);
    const steps = format.planes.map(({ step, rows = step }) => argument === "width" ? step : rows);
    const odd = steps.find((step) => pixels % step !== 0);
    if (odd !== undefined) {
      throw new LayoutError(`${argument}: ${name} needs a multiple of ${odd}, got ${pixels}.`, {
        api: "core",
        argument,
      });
    }
  }
  const info: ImageInfo = {
    type: "image",
    format: name,
    width,
    height,
    fourcc: format.fourcc,
    modifier,
    ...(colour === undefined ? {} : { colour }),
  };
  return Object.freeze(withJson(info));
}

/** Tensors that are pictures: the format of one with these channels. */
const BY_CHANNELS: readonly (ImageFormat | undefined)[] = ["GRAY8", undefined, undefined, "RGBA"];

/** The image that a tensor of bytes is: `[height, width]` is `GRAY8`, `[height, width, 4]` is `RGBA`. */
export function imageOf({ shape: [height, width, ...channels], dtype }: Layout): ImageInfo | undefined {
  const format = channels.length < 2 && dtype === "u8" ? BY_CHANNELS[(channels[0] ?? 1) - 1] : undefined;
  return format && width > 0 && height > 0 ? imageInfo({ format, width, height }) : undefined;
}

/** A checked and frozen copy. @throws {LayoutError} whose `argument` names the wrong property. */
export function frameInfo(given: FrameInfo): FrameInfo {
  const info = { ...object(given, "info") };
  if (info.type === "image") return image(info);
  if (info.type !== "audio" || (info.layout !== "interleaved" && info.layout !== "planar")) {
    throw new LayoutError('info: expected an image, or "interleaved" or "planar" audio.', {
      api: "core",
      argument: "info",
      hint: 'Of an image, let imageInfo() make it: imageInfo({ format: "NV12", width: 640, height: 480 }).',
    });
  }
  whole(info.sampleRate, "sampleRate", 1);
  if (whole(info.channels, "channels", 1) > MOST_PLANES && info.layout === "planar") {
    throw new LayoutError(`channels: expected at most ${MOST_PLANES} planes, got ${info.channels}.`, {
      api: "core",
      argument: "channels",
    });
  }
  return Object.freeze(info);
}

/** The planes of infos that never change: each map of a frame asks several times. */
const LAYOUTS = new WeakMap<FrameInfo, readonly Layout[]>();

/**
 * The planes of a frame (as {@link frameInfo} checked it) that lies in one block, one after the other, without a gap.
 * @param rowAlign each row of an image begins at a multiple of this many bytes; 1 by default
 */
export function planeLayouts(info: FrameInfo, rowAlign: number = 1): readonly Layout[] {
  if (rowAlign !== 1 || !Object.isFrozen(info)) return placedPlanes(info, rowAlign);
  let known = LAYOUTS.get(info);
  if (known === undefined) LAYOUTS.set(info, known = placedPlanes(info, rowAlign));
  return known;
}

function placedPlanes(info: FrameInfo, rowAlign: number): readonly Layout[] {
  const planes = info.type === "image" ? imagePlanes(info, rowAlign) : audioPlanes(info);
  let next = 0;
  return planes.map((plane) => {
    const placed = moved(plane, Math.ceil(next / sizeOf(plane.dtype)) * sizeOf(plane.dtype));
    // Every row takes its whole stride, so that the next plane's rows are aligned as this one's are.
    next = placed.byteOffset + (plane.shape.length > 1 ? plane.shape[0] * plane.strides[0] : plane.byteLength);
    return placed;
  });
}

/** Where other code has put a plane. */
export interface PlanePlace {
  /** Where it begins, in bytes; 0 by default. */
  readonly offset?: number;
  /** Bytes from a row to the next; no padding by default. */
  readonly stride?: number;
}

/** @throws {LayoutError} for another number of planes, or a wrong stride or offset. */
export function planesAt(info: FrameInfo, places: readonly PlanePlace[]): readonly Layout[] {
  const planes = planeLayouts(info);
  if (places.length !== planes.length) {
    const what = `expected ${planes.length} of ${info.format}, got ${places.length}.`;
    throw new LayoutError(`planes: ${what}`, { api: "core", argument: "planes" });
  }
  return planes.map(({ shape, dtype, strides: [row, ...rest] }, i) => {
    const { offset = 0, stride = row } = places[i];
    return layout({ shape, dtype, strides: [stride, ...rest], byteOffset: offset });
  });
}

export function assertApart(planes: readonly Layout[]): void {
  const sorted = planes.toSorted((a, b) => a.byteOffset - b.byteOffset);
  const overlap = sorted.some((plane, i) => i > 0 && endOf(sorted[i - 1]) > plane.byteOffset);
  if (overlap) throw new LayoutError("planes: two of them overlap.", { api: "core", argument: "planes" });
}

function endOf({ byteOffset, byteLength }: Layout): number {
  return byteOffset + byteLength;
}

function imagePlanes(info: ImageInfo, rowAlign: number): Layout[] {
  return IMAGE_FORMATS[info.format].planes.map(({ elements, dtype, step, rows = step }) => {
    const size = [info.height / rows, info.width / step];
    return layout({ shape: elements === 1 ? size : [...size, elements], dtype, rowAlign });
  });
}

function audioPlanes(info: AudioInfo): Layout[] {
  const { format: dtype, channels } = info;
  if (info.layout === "interleaved") return [layout({ shape: [info.samples, channels], dtype })];
  return Array.from({ length: channels }, () => layout({ shape: [info.samples], dtype }));
}
