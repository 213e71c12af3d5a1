import { literal, type Names, object, optionsIn, unexpected } from "../argument.ts";
import { type DType, sizeOf } from "./dtype.ts";
import { LayoutError } from "../errors.ts";
import { withJson } from "../printed.ts";
import { assertDType, type Layout, layout, moved, powerOfTwo, whole } from "./layout.ts";

/**
 * The pixel formats of every API. A format is an order of channels and an encoding of each; an API adds the numbers it
 * has for these (`CL_RGBA` and `CL_UNORM_INT8`, `VK_FORMAT_R8G8B8A8_UNORM`, `CV_8UC4`).
 */

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

/** Its characters, without spaces at their end. */
export function fourccText(fourcc: number): string {
  return String.fromCharCode(...[0, 8, 16, 24].map((shift) => (fourcc >>> shift) & 0xff)).trimEnd();
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

/** A table whose rows are made when they are first read, so that importing this file makes none. */
function madeLater<T extends object>(rows: { readonly [Name in keyof T]: () => T[Name] }): T {
  const table = {} as T;
  for (const name of Object.keys(rows) as (keyof T)[]) {
    const get = () => {
      const value = rows[name]();
      Object.defineProperty(table, name, { value, enumerable: true });
      return value;
    };
    Object.defineProperty(table, name, { get, enumerable: true, configurable: true });
  }
  return table;
}

export const IMAGE_FORMATS: { readonly [F in ImageFormat]: PictureFormat } = madeLater({
  GRAY8: () => packed("r"),
  RGB: () => packed("rgb"),
  BGR: () => packed("bgr"),
  RGBA: () => packed("rgba"),
  BGRA: () => packed("bgra"),
  RGBX: () => packed("rgbx"),
  BGRX: () => packed("bgrx"),
  NV12: () => planar("NV12", "unorm8", ["rg"], 2),
  I420: () => planar("YU12", "unorm8", ["r", "r"], 2),
  YV12: () => planar("YV12", "unorm8", ["r", "r"], 2),
  YUV444: () => planar("YU24", "unorm8", ["r", "r"], 1),
  P010: () => planar("P010", "unorm16", ["rg"], 2),
  P012: () => planar("P012", "unorm16", ["rg"], 2),
  P016: () => planar("P016", "unorm16", ["rg"], 2),
  YUY2: () => interleaved("YUYV"),
  UYVY: () => interleaved("UYVY"),
});

/** The format of a DRM code; undefined for one that samepage has no name for. */
export function imageFormatOf(fourcc: number): ImageFormat | undefined {
  return (Object.keys(IMAGE_FORMATS) as ImageFormat[]).find((name) => IMAGE_FORMATS[name].fourcc === fourcc);
}

/** How an image's numbers encode colours. */
export interface Colour {
  /** The matrix between RGB and YCbCr. */
  readonly matrix?: "bt601" | "bt709" | "bt2020";
  /** Whether luma uses 16–235 or 0–255. */
  readonly range?: "limited" | "full";
}

/** What codecs know of a frame besides; FFmpeg's names. What is unknown is left out. */
export interface MediaFacts {
  /** When it is shown, in units of the time base. */
  readonly pts?: bigint;
  /** How long it is shown, in the same units. */
  readonly duration?: bigint;
  /** Seconds: a numerator and a denominator. */
  readonly timeBase?: readonly [numerator: number, denominator: number];
  /** True for a frame that is decoded without others. */
  readonly keyFrame?: boolean;
  /** True for a frame before which others are missing. */
  readonly discontinuous?: boolean;
  /** Frames a second, where that does not change. */
  readonly frameRate?: readonly [numerator: number, denominator: number];
  /** A pixel's width by its height. */
  readonly sampleAspect?: readonly [numerator: number, denominator: number];
  /** The matrix between RGB and YCbCr: `"smpte170m"`. */
  readonly matrix?: string;
  /** The colours that red, green and blue are: `"bt709"`. */
  readonly primaries?: string;
  /** The curve from light to numbers: `"smpte2084"`. */
  readonly transfer?: string;
  /** Where subsampled chroma lies between the pixels of luma: `"left"`. */
  readonly chromaLocation?: string;
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
  /** What its maker knows of it besides. */
  readonly media?: MediaFacts;
}

/** One plane of a {@link PictureInfo}. */
export interface PicturePlane {
  /** The type of one element. */
  readonly dtype: DType;
  /** Elements for each step: the channels of a pixel, or 1 where an element is a whole pixel. */
  readonly elements: number;
  /** Pixels of the picture, across, for which there is one set of elements; the last one may stand for fewer. */
  readonly step: number;
  /** Rows of the picture for one of the plane's. */
  readonly rows: number;
}

/** What a frame of pixels is whose format, or odd size, no {@link ImageFormat} has: its planes are described. */
export interface PictureInfo {
  /** Distinguishes it from {@link ImageInfo} and {@link AudioInfo}. */
  readonly type: "picture";
  /** The format, by its maker's name: `"yuv422p10le"`. */
  readonly format: string;
  /** Pixels across. */
  readonly width: number;
  /** Pixels down. */
  readonly height: number;
  /** What each plane holds. */
  readonly planes: readonly PicturePlane[];
  /** How its numbers encode colours, if that is known. */
  readonly colour?: Colour;
  /** What its maker knows of it besides. */
  readonly media?: MediaFacts;
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
  /** What its maker knows of it besides. */
  readonly media?: MediaFacts;
}

/** A column of a {@link TableInfo}. */
export interface Column {
  /** What it is called; two columns may have one name. */
  readonly name: string;
  /** The type of one element. */
  readonly dtype: DType;
  /** The shape of what it holds for each row; `[]` for one element. */
  readonly shape: readonly number[];
}

/** What a frame of columns is: each is a plane, whose first dimension is the rows. */
export interface TableInfo {
  /** Distinguishes it from pictures and sound. */
  readonly type: "table";
  /** Who made the table: `"arrow"` for one of `fromArrow`, any other word for one of yours. */
  readonly format: string;
  /** How many rows. */
  readonly rows: number;
  /** The columns, in order. */
  readonly columns: readonly Column[];
  /** What its maker knows of it besides. */
  readonly media?: MediaFacts;
}

/** A frame of pixels, and not of anything else. */
export type PixelsInfo = ImageInfo | PictureInfo;

/** What a frame is. */
export type FrameInfo = ImageInfo | PictureInfo | AudioInfo | TableInfo;

const MAX_PLANES = 64;

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

function image(init: ImageInit & Partial<Pick<ImageInfo, "fourcc" | "media">>): ImageInfo {
  const { format: name, width, height, fourcc, modifier = 0n, colour, media } = init;
  if (typeof name !== "string" || !Object.hasOwn(IMAGE_FORMATS, name)) {
    throw new LayoutError(`format: expected a pixel format, got ${literal(name)}.`, {
      api: "core",
      argument: "format",
      hint: `Use one of ${Object.keys(IMAGE_FORMATS).join(", ")}.`,
    });
  }
  const format = IMAGE_FORMATS[name];
  if (fourcc !== undefined && fourcc !== format.fourcc) {
    throw unexpected("fourcc", `${format.fourcc}, which is ${name}'s`, fourcc);
  }
  if (typeof modifier !== "bigint" || BigInt.asUintN(64, modifier) !== modifier) {
    throw unexpected("modifier", "a bigint of 64 bits", modifier);
  }
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
    ...colourIn(colour),
    ...mediaIn(media),
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

const COMMON = { type: true, format: true, media: true };
const PIXELS = { ...COMMON, width: true, height: true, colour: true };
const IMAGE: Names<ImageInfo> = { ...PIXELS, fourcc: true, modifier: true };
const PICTURE: Names<PictureInfo> = { ...PIXELS, planes: true };
const TABLE: Names<TableInfo> = { ...COMMON, rows: true, columns: true };
const COLUMN: Names<Column> = { name: true, dtype: true, shape: true };
const AUDIO: Names<AudioInfo> = { ...COMMON, sampleRate: true, channels: true, samples: true, layout: true };

/**
 * A checked and frozen copy.
 *
 * @throws {LayoutError} whose `argument` names the wrong property.
 * @throws {ArgumentError} for an unknown property, and wrong colours or media.
 */
export function frameInfo(given: FrameInfo): FrameInfo {
  const info = { ...object(given, "info") };
  if (info.type === "image") return image(optionsIn(info, IMAGE, "info"));
  if (info.type === "picture") return picture(optionsIn(info, PICTURE, "info"));
  if (info.type === "table") return table(optionsIn(info, TABLE, "info"));
  if (info.type !== "audio" || (info.layout !== "interleaved" && info.layout !== "planar")) {
    throw new LayoutError('info: expected an image, or "interleaved" or "planar" audio.', {
      api: "core",
      argument: "info",
      hint: 'imageInfo() makes the info of an image: imageInfo({ format: "NV12", width: 640, height: 480 }).',
    });
  }
  optionsIn(info, AUDIO, "info");
  assertDType(info.format, "format");
  whole(info.sampleRate, "sampleRate", 1);
  whole(info.samples, "samples", 1);
  if (whole(info.channels, "channels", 1) > MAX_PLANES && info.layout === "planar") {
    throw new LayoutError(`channels: expected at most ${MAX_PLANES} planes, got ${info.channels}.`, {
      api: "core",
      argument: "channels",
    });
  }
  return Object.freeze(withJson({ ...info, ...mediaIn(info.media) }));
}

const PLANE: Names<PicturePlane> = { dtype: true, elements: true, step: true, rows: true };

function picture(info: PictureInfo): PictureInfo {
  const { format, planes: given, width, height } = info;
  if (typeof format !== "string" || !Array.isArray(given) || given.length > MAX_PLANES) {
    const what = `info: expected the name of a format, and at most ${MAX_PLANES} planes.`;
    throw new LayoutError(what, { api: "core", argument: "info" });
  }
  whole(width, "width", 1);
  whole(height, "height", 1);
  whole(given.length, "planes.length", 1);
  const planes = Array.from(given, (plane: PicturePlane, i) => {
    const one = optionsIn(plane, PLANE, `planes[${i}]`);
    assertDType(one.dtype, `planes[${i}].dtype`);
    for (const name of ["elements", "step", "rows"] as const) whole(one[name], `planes[${i}].${name}`, 1);
    return Object.freeze({ ...one });
  });
  return Object.freeze(
    withJson({ ...info, planes: Object.freeze(planes), ...colourIn(info.colour), ...mediaIn(info.media) }),
  );
}

function table(info: TableInfo): TableInfo {
  const { format, rows, columns: given } = info;
  if (typeof format !== "string") throw unexpected("format", "a string", format);
  if (!Array.isArray(given)) throw unexpected("columns", "an array of columns", given);
  if (given.length > MAX_PLANES) {
    const what = `columns: expected at most ${MAX_PLANES}, got ${given.length}.`;
    throw new LayoutError(what, { api: "core", argument: "columns" });
  }
  whole(rows, "rows", 1);
  whole(given.length, "columns.length", 1);
  const columns = Array.from(given, (column: Column, i) => {
    const { name, dtype, shape } = optionsIn(column, COLUMN, `columns[${i}]`);
    if (typeof name !== "string") throw unexpected(`columns[${i}].name`, "a string", name);
    const of = layout({ shape, dtype }); // checked, and copied
    return Object.freeze({ name, dtype: of.dtype, shape: of.shape });
  });
  return Object.freeze(withJson({ ...info, columns: Object.freeze(columns), ...mediaIn(info.media) }));
}

const COLOURS: { readonly [N in keyof Colour]-?: readonly NonNullable<Colour[N]>[] } = {
  matrix: ["bt601", "bt709", "bt2020"],
  range: ["limited", "full"],
};

function colourIn(given: Colour | undefined): Pick<ImageInfo, "colour"> {
  if (given === undefined) return {};
  const colour = { ...optionsIn(given, COLOURS, "colour") };
  for (const [name, value] of Object.entries(colour)) {
    const names: readonly string[] = COLOURS[name as keyof Colour];
    if (value === undefined || names.includes(value)) continue;
    throw unexpected(`colour.${name}`, names.map((name) => `"${name}"`).join(" or "), value);
  }
  return { colour: Object.freeze(colour) };
}

type Fact = readonly [expected: string, isOne: (fact: unknown) => boolean];

const MOMENT: Fact = ["a bigint of 64 bits", (it) => typeof it === "bigint" && BigInt.asIntN(64, it) === it];
const BOOLEAN: Fact = ["a boolean", (it) => typeof it === "boolean"];
const TEXT: Fact = ["a string", (it) => typeof it === "string"];
const RATIO: Fact = [
  "two integers of 32 bits",
  (it) => Array.isArray(it) && it.length === 2 && it.every((part) => typeof part === "number" && (part | 0) === part),
];

const FACTS: { readonly [N in keyof MediaFacts]-?: Fact } = {
  ...{ pts: MOMENT, duration: MOMENT, timeBase: RATIO, frameRate: RATIO, sampleAspect: RATIO },
  ...{ keyFrame: BOOLEAN, discontinuous: BOOLEAN },
  ...{ matrix: TEXT, primaries: TEXT, transfer: TEXT, chromaLocation: TEXT },
};

function mediaIn(given: MediaFacts | undefined): Pick<ImageInfo, "media"> {
  return given === undefined ? {} : { media: mediaFacts(given) };
}

/** A frozen copy. @throws {ArgumentError} for an unknown property, and for a value of another type. */
export function mediaFacts(given: MediaFacts): MediaFacts {
  const media = { ...optionsIn(given, FACTS, "media") };
  for (const [name, fact] of Object.entries(media)) {
    const [expected, isOne] = FACTS[name as keyof MediaFacts];
    if (fact !== undefined && !isOne(fact)) throw unexpected(`media.${name}`, expected, fact);
  }
  return Object.freeze(media);
}

/** The same frame with the facts of its moment besides, which are not checked. */
export function withMoment<I extends FrameInfo>(info: I, moment: MediaFacts | undefined): I {
  if (moment === undefined) return info;
  return Object.freeze(withJson({ ...info, media: Object.freeze({ ...info.media, ...moment }) }));
}

/** What was described last: the frames of a stream share their description, and each of them has a name. */
let described: FrameInfo | undefined;
let description = "";

/** `NV12 1920 × 1080`, `f32 2 channels of 48000 samples`, or `arrow 3 columns of 100 rows`: how messages name a frame. */
export function frameInWords(info: FrameInfo): string {
  if (info === described) return description;
  const words = `${info.format} ${sizeInWords(info)}`;
  if (!Object.isFrozen(info)) return words;
  described = info;
  return description = words;
}

function sizeInWords(info: FrameInfo): string {
  if (info.type === "table") return `${info.columns.length} columns of ${info.rows} rows`;
  if (info.type === "audio") return `${info.channels} channels of ${info.samples} samples`;
  return `${info.width} × ${info.height}`;
}

/** The planes of infos that never change: each map of a frame asks several times. */
const LAYOUTS = new WeakMap<FrameInfo, readonly Layout[]>();

/**
 * The planes of a frame (as {@link frameInfo} checked it) that lies in one block, one after the other.
 * @param rowAlign each row of an image begins at a multiple of this many bytes; 1 by default
 * @param planeAlign each plane begins at a multiple of this many bytes; 1 by default: there is no gap then
 */
export function planeLayouts(info: FrameInfo, rowAlign: number = 1, planeAlign: number = 1): readonly Layout[] {
  if (rowAlign !== 1 || planeAlign !== 1 || !Object.isFrozen(info)) return placedPlanes(info, rowAlign, planeAlign);
  let known = LAYOUTS.get(info);
  if (known === undefined) LAYOUTS.set(info, known = placedPlanes(info, rowAlign, planeAlign));
  return known;
}

function placedPlanes(info: FrameInfo, rowAlign: number, planeAlign: number): readonly Layout[] {
  whole(rowAlign, "rowAlign", 1); // sound and tables have no rows to align
  const planes = PLANES[info.type](info as never, rowAlign);
  powerOfTwo(planeAlign, "planeAlign");
  let next = 0;
  return planes.map((plane) => {
    const align = Math.max(sizeOf(plane.dtype), planeAlign); // each is a power of two
    const placed = moved(plane, Math.ceil(next / align) * align);
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

const PLANES: {
  readonly [T in FrameInfo["type"]]: (info: FrameInfo & { readonly type: T }, rowAlign: number) => Layout[];
} = {
  image: picturePlanes,
  picture: picturePlanes,
  audio: audioPlanes,
  table: ({ rows, columns }) => columns.map(({ shape, dtype }) => layout({ shape: [rows, ...shape], dtype })),
};

function picturePlanes(info: PixelsInfo, rowAlign: number): Layout[] {
  const planes: readonly (PicturePlane | PlaneFormat)[] = info.type === "image"
    ? IMAGE_FORMATS[info.format].planes
    : info.planes;
  return planes.map(({ elements, dtype, step, rows = step }) => {
    const size = [Math.ceil(info.height / rows), Math.ceil(info.width / step)];
    return layout({ shape: elements === 1 ? size : [...size, elements], dtype, rowAlign });
  });
}

function audioPlanes(info: AudioInfo): Layout[] {
  const { format: dtype, channels } = info;
  if (info.layout === "interleaved") return [layout({ shape: [info.samples, channels], dtype })];
  return Array.from({ length: channels }, () => layout({ shape: [info.samples], dtype }));
}
