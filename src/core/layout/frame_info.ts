import { literal, type Names, object, optionsIn } from "../argument.ts";
import { type DType, sizeOf } from "./dtype.ts";
import { LayoutError } from "../errors.ts";
import { type Layout, layout, moved, whole } from "./layout.ts";

/** A pixel format, by its common name; `GRAY8`, `RGB`, … are in the order of the bytes in memory. */
export type ImageFormat = "GRAY8" | "RGB" | "BGR" | "RGBA" | "BGRA" | "NV12" | "I420" | "P010";

/** One plane of a pixel format: elements per pixel, and its subsampling in x and y. */
interface PlaneFormat {
  readonly channels: number;
  readonly dtype: DType;
  readonly xStep: number;
  readonly yStep: number;
}

const packed = (channels: number): readonly PlaneFormat[] => [{ channels, dtype: "u8", xStep: 1, yStep: 1 }];
const luma = (dtype: DType): PlaneFormat => ({ channels: 1, dtype, xStep: 1, yStep: 1 });
const chroma = (dtype: DType, channels: number): PlaneFormat => ({ channels, dtype, xStep: 2, yStep: 2 });

/**
 * The pixel formats, with the DRM name of each (drm_fourcc.h). DRM names the channels of a little-endian word from its
 * high byte down, so bytes R, G, B, A in memory are `DRM_FORMAT_ABGR8888`, `AB24`.
 */
const IMAGE_FORMATS: { readonly [F in ImageFormat]: { fourcc: string; planes: readonly PlaneFormat[] } } = {
  GRAY8: { fourcc: "R8  ", planes: packed(1) },
  RGB: { fourcc: "BG24", planes: packed(3) },
  BGR: { fourcc: "RG24", planes: packed(3) },
  RGBA: { fourcc: "AB24", planes: packed(4) },
  BGRA: { fourcc: "AR24", planes: packed(4) },
  NV12: { fourcc: "NV12", planes: [luma("u8"), chroma("u8", 2)] },
  I420: { fourcc: "YU12", planes: [luma("u8"), chroma("u8", 1), chroma("u8", 1)] },
  P010: { fourcc: "P010", planes: [luma("u16"), chroma("u16", 2)] },
};

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

/** The most planes of a frame of sound: one for each channel. */
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

/** The DRM code of four characters, first character in the low byte (`fourcc_code` of drm_fourcc.h). */
export function fourccOf(characters: string): number {
  return [...characters].reduceRight((code, c) => code * 256 + c.charCodeAt(0), 0);
}

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
  for (const [argument, pixels, step] of [["width", width, "xStep"], ["height", height, "yStep"]] as const) {
    whole(pixels, argument, 1);
    const odd = format.planes.find((plane) => pixels % plane[step] !== 0);
    if (odd !== undefined) {
      throw new LayoutError(`${argument}: ${name} needs a multiple of ${odd[step]}, got ${pixels}.`, {
        api: "core",
        argument,
      });
    }
  }
  return Object.freeze({
    type: "image",
    format: name,
    width,
    height,
    fourcc: fourccOf(format.fourcc),
    modifier,
    ...(colour === undefined ? {} : { colour }),
  });
}

/**
 * A checked and frozen copy of a frame's description.
 *
 * @throws {LayoutError} whose `argument` names the wrong property.
 */
export function frameInfo(given: FrameInfo): FrameInfo {
  const info = { ...object(given, "info") };
  if (info.type === "image") return image(info);
  if (info.type !== "audio" || (info.layout !== "interleaved" && info.layout !== "planar")) {
    throw new LayoutError('info: expected an image, or "interleaved" or "planar" audio.', {
      api: "core",
      argument: "info",
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

/**
 * The planes of a frame (as {@link frameInfo} checked it) that lies in one block, one after the other, without a gap.
 *
 * @param rowAlign each row of an image begins at a multiple of this many bytes; 1 by default
 */
export function planeLayouts(info: FrameInfo, rowAlign: number = 1): readonly Layout[] {
  const planes = info.type === "image" ? imagePlanes(info, rowAlign) : audioPlanes(info);
  let next = 0;
  return planes.map((plane) => {
    const placed = moved(plane, Math.ceil(next / sizeOf(plane.dtype)) * sizeOf(plane.dtype));
    // Every row takes its whole stride, so that the next plane's rows are aligned as this one's are.
    next = placed.byteOffset + (plane.shape.length > 1 ? plane.shape[0] * plane.strides[0] : plane.byteLength);
    return placed;
  });
}

function imagePlanes(info: ImageInfo, rowAlign: number): Layout[] {
  return IMAGE_FORMATS[info.format].planes.map(({ channels, dtype, xStep, yStep }) => {
    const size = [info.height / yStep, info.width / xStep];
    return layout({ shape: channels === 1 ? size : [...size, channels], dtype, rowAlign });
  });
}

function audioPlanes(info: AudioInfo): Layout[] {
  const { format: dtype, channels } = info;
  if (info.layout === "interleaved") return [layout({ shape: [info.samples, channels], dtype })];
  return Array.from({ length: channels }, () => layout({ shape: [info.samples], dtype }));
}
