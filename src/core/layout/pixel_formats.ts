/**
 * The pixel formats of every API. A format is an order of channels and an encoding of each; an API adds the numbers it
 * has for these (`CL_RGBA` and `CL_UNORM_INT8`, `VK_FORMAT_R8G8B8A8_UNORM`, `CV_8UC4`).
 */
import { type DType, sizeOf } from "./dtype.ts";

/** The channels of a pixel, in the order of memory. `x` is padding; `l`, `i` and `d` are luminance, intensity and depth. */
export type ChannelOrder =
  | ("r" | "a" | "l" | "i" | "d")
  | ("rg" | "ra")
  | ("rgb" | "bgr")
  | ("rgba" | "bgra" | "argb" | "abgr" | "rgbx" | "bgrx");

/** What one element holds: a channel, or all channels of a pixel (`unorm565`), the first one in the highest bits. */
export type Encoding = keyof typeof ENCODINGS;

/** The type in which a device reads a channel. */
export type ChannelKind = "float" | "sint" | "uint";

interface EncodingRow {
  readonly dtype: DType;
  /** Devices read fractions, up to 1. */
  readonly normalized?: true;
  /** The element is a whole pixel. */
  readonly packed?: true;
}

const ENCODINGS = {
  unorm8: { dtype: "u8", normalized: true },
  unorm16: { dtype: "u16", normalized: true },
  snorm8: { dtype: "i8", normalized: true },
  snorm16: { dtype: "i16", normalized: true },
  srgb8: { dtype: "u8", normalized: true },
  uint8: { dtype: "u8" },
  uint16: { dtype: "u16" },
  uint32: { dtype: "u32" },
  sint8: { dtype: "i8" },
  sint16: { dtype: "i16" },
  sint32: { dtype: "i32" },
  float16: { dtype: "f16" },
  float32: { dtype: "f32" },
  unorm565: { dtype: "u16", normalized: true, packed: true },
  unorm555: { dtype: "u16", normalized: true, packed: true },
  unorm101010: { dtype: "u32", normalized: true, packed: true },
  unorm1010102: { dtype: "u32", normalized: true, packed: true },
} as const satisfies Readonly<Record<string, EncodingRow>>;

/**
 * The DRM names of formats (drm_fourcc.h). DRM names the channels of a little-endian word from its high byte down, so
 * bytes R, G, B, A in memory are `DRM_FORMAT_ABGR8888`, `AB24`.
 */
const FOURCCS: Readonly<Record<string, string>> = {
  "r unorm8": "R8  ",
  "r unorm16": "R16 ",
  "rg unorm8": "GR88",
  "rg unorm16": "GR32",
  "rgb unorm8": "BG24",
  "bgr unorm8": "RG24",
  "rgba unorm8": "AB24",
  "bgra unorm8": "AR24",
  "argb unorm8": "BA24",
  "abgr unorm8": "RA24",
  "rgbx unorm8": "XB24",
  "bgrx unorm8": "XR24",
  "rgba unorm16": "AB48",
  "rgba float16": "AB4H",
  "rgb unorm565": "RG16",
  "rgbx unorm555": "XR15",
  "rgbx unorm101010": "XR30",
  "rgba unorm1010102": "RA30",
};

/** A pixel format, and the memory of its pixels. */
export interface PixelFormat {
  /** Order and encoding: `rgba unorm8`. */
  readonly name: string;
  /** The dtype of a tensor of such pixels. */
  readonly dtype: DType;
  /** Elements of that dtype in a pixel: its channels, or 1 where one element is a whole pixel. */
  readonly elements: number;
  /** A pixel's size. */
  readonly bytesPerPixel: number;
  /** The type in which devices read its channels. */
  readonly kind: ChannelKind;
  /** Its DRM fourcc, if it has one. */
  readonly fourcc?: number;
}

export function pixelFormat(order: ChannelOrder, encoding: Encoding): PixelFormat {
  const { dtype, normalized, packed }: EncodingRow = ENCODINGS[encoding];
  const name = `${order} ${encoding}`;
  const elements = packed ? 1 : order.length;
  return Object.freeze({
    name,
    dtype,
    elements,
    bytesPerPixel: elements * sizeOf(dtype),
    kind: normalized ? "float" : kindOf(dtype),
    ...(Object.hasOwn(FOURCCS, name) ? { fourcc: fourccOf(FOURCCS[name]) } : {}),
  });
}

/** The type in which a device reads a dtype that is not normalized. */
export function kindOf(dtype: DType): ChannelKind {
  const letter = dtype[0];
  return letter === "f" ? "float" : letter === "i" ? "sint" : "uint";
}

/** The DRM code of four characters, first character in the low byte (`fourcc_code` of drm_fourcc.h). */
export function fourccOf(characters: string): number {
  return [...characters].reduceRight((code, c) => code * 256 + c.charCodeAt(0), 0);
}

/** A format of pictures, by its common name; `GRAY8`, `RGB`, … are in the order of the bytes in memory. */
export type ImageFormat =
  | ("GRAY8" | "RGB" | "BGR" | "RGBA" | "BGRA" | "RGBX" | "BGRX")
  | ("NV12" | "I420" | "YV12" | "YUV444" | "P010" | "P012" | "P016")
  | ("YUY2" | "UYVY");

/** One plane of a picture. */
export interface PlaneFormat extends PixelFormat {
  /** Pixels of the picture, across, that share one of the plane's; and down, unless `rows` says otherwise. */
  readonly step: number;
  /** Rows of the picture that share one of the plane's, where that is not `step`. */
  readonly rows?: number;
}

export interface PictureFormat {
  readonly fourcc: number;
  readonly planes: readonly PlaneFormat[];
}

function packed(order: ChannelOrder): PictureFormat {
  const format = pixelFormat(order, "unorm8");
  return { fourcc: format.fourcc!, planes: [{ ...format, step: 1 }] };
}

/** A plane of luma, and planes of chroma: one pixel of them for `step` of luma across, and as many down. */
function planar(fourcc: string, encoding: Encoding, chroma: readonly ChannelOrder[], step: number): PictureFormat {
  const others = chroma.map((order) => ({ ...pixelFormat(order, encoding), step }));
  return { fourcc: fourccOf(fourcc), planes: [{ ...pixelFormat("r", encoding), step: 1 }, ...others] };
}

/** Luma and chroma in turns, in one plane: two pixels of the picture, side by side, are four bytes. */
function interleaved(fourcc: string): PictureFormat {
  const { fourcc: _, ...bytes } = pixelFormat("rgba", "unorm8");
  const pair = { ...bytes, name: `${fourcc.toLowerCase()} unorm8`, fourcc: fourccOf(fourcc), step: 2, rows: 1 };
  return { fourcc: fourccOf(fourcc), planes: [pair] };
}

export const IMAGE_FORMATS: { readonly [F in ImageFormat]: PictureFormat } = {
  GRAY8: packed("r"),
  RGB: packed("rgb"),
  BGR: packed("bgr"),
  RGBA: packed("rgba"),
  BGRA: packed("bgra"),
  RGBX: packed("rgbx"),
  BGRX: packed("bgrx"),
  NV12: planar("NV12", "unorm8", ["rg"], 2),
  I420: planar("YU12", "unorm8", ["r", "r"], 2),
  YV12: planar("YV12", "unorm8", ["r", "r"], 2),
  YUV444: planar("YU24", "unorm8", ["r", "r"], 1),
  P010: planar("P010", "unorm16", ["rg"], 2),
  P012: planar("P012", "unorm16", ["rg"], 2),
  P016: planar("P016", "unorm16", ["rg"], 2),
  YUY2: interleaved("YUYV"),
  UYVY: interleaved("UYVY"),
};
