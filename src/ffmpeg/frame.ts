import { type Address, NULL } from "../../ffi/address.ts";
import { AV_NOPTS_VALUE, AV_NUM_DATA_POINTERS } from "../../ffi/avutil57/constants.ts";
import type { AVFrame } from "../../ffi/avutil57/structs.ts";
import type { AdoptedPlane } from "../core/tensors/adopt.ts";
import { sizeOf } from "../core/layout/dtype.ts";
import {
  type Colour,
  type FrameInfo,
  frameInfo,
  imageInfo,
  type MediaFacts,
  planeLayouts,
} from "../core/layout/frame_info.ts";
import { type Layout, layout } from "../core/layout/layout.ts";
import type { Undo } from "../core/life/undo.ts";
import { viewAt } from "../core/native/pin.ts";
import { textAt } from "../core/native/text.ts";
import { FULL_RANGE, imageFormatOf, type PixelsFormat, pixelsFormat, RANGES, SAMPLES } from "./formats.ts";
import { avutil, checks, made } from "./library.ts";

const WORD = 8;

/** The fields of an AVFrame, and the memory in which its arrays are. */
export interface Fields extends AVFrame {
  readonly address: Address;
  readonly view: DataView<ArrayBuffer>;
}

/** Reads an AVFrame, which is valid for as long as its owner says. */
export function fieldsAt(address: Address): Fields {
  const { structs: { AVFrame, readAVFrame } } = avutil();
  const view = viewAt(address, AVFrame.size, "ffmpeg");
  return { ...readAVFrame(view, 0), address, view };
}

/** An AVFrame without memory; `undo` frees it, and with it the references that it has got. */
export function newFrame(undo: Undo): Address {
  const { fns } = avutil();
  const frame = made(fns.av_frame_alloc(), "av_frame_alloc");
  undo.push(() => fns.av_frame_free(new BigUint64Array([frame])));
  return frame;
}

/** What an AVFrame is, and where its planes lie: in buffers of FFmpeg's. */
export interface Contents {
  readonly info: FrameInfo;
  readonly planes: readonly AdoptedPlane[];
}

/** @throws {ArgumentError} for a format that samepage has no layout for. @throws {LayoutError} for planes elsewhere. */
export function describe(fields: Fields): Contents {
  const { width, height, nb_samples } = fields;
  if (width > 0 && height > 0) return picture(fields);
  if (nb_samples > 0) return sound(fields);
  throw checks.wrong("pointer", "its AVFrame is empty: it has no pixels, and no samples.");
}

function picture(fields: Fields): Contents {
  const format = pixelsFormat(fields.format, "pointer");
  const crop = cropOf(fields, format);
  const { width, height } = crop;
  const named = imageFormatOf(format, width, height);
  const about = pictureFacts(fields, format.name);
  const info = frameInfo(
    named === undefined
      ? { type: "picture", format: format.name, width, height, planes: format.planes, ...about }
      : { ...imageInfo({ format: named, width, height }), ...about },
  );
  const blocks = new Blocks(fields);
  const planes = planeLayouts(info).map(({ shape, dtype }, i) => {
    const { step, rows, elements } = format.planes[i];
    const size = sizeOf(dtype);
    const stride = linesizeOf(fields, i, shape[1] * elements * size);
    const skipped = Math.floor(crop.top / rows) * stride + Math.floor(crop.left / step) * elements * size;
    const strides = [stride, elements * size, size].slice(0, shape.length);
    return blocks.plane(i, skipped, { shape, dtype, strides });
  });
  return { info, planes };
}

/** What is known of a picture besides its pixels. */
export function pictureFacts(fields: Fields, format: string) {
  const colour = colourOf(fields, format);
  return { media: mediaOf(fields), ...(colour === undefined ? {} : { colour }) };
}

function linesizeOf({ view }: Fields, plane: number, least: number): number {
  const { structs: { AVFrame: { fields: { linesize } } } } = avutil();
  const bytes = view.getInt32(linesize.offset + 4 * plane, true);
  if (bytes >= least) return bytes;
  const what = bytes < 0 ? "its rows go upwards in memory, and a layout's go downwards." : `a row has ${least} bytes.`;
  const hint = "Copy it: av_frame_copy() to a frame of av_frame_get_buffer().";
  throw checks.unfit("pointer", `linesize[${plane}] of its AVFrame is ${bytes}: ${what}`, hint);
}

/** The part of the picture that is shown. Where a crop is odd, subsampled chroma begins half a step early, as in FFmpeg. */
export function cropOf(fields: Fields, { name, planes }: PixelsFormat) {
  const [left, right, top, bottom] = [fields.crop_left, fields.crop_right, fields.crop_top, fields.crop_bottom]
    .map(Number);
  const [width, height] = [fields.width - left - right, fields.height - top - bottom];
  if (width <= 0 || height <= 0) {
    throw checks.unfit("pointer", `its AVFrame crops all of its ${fields.width} × ${fields.height} pixels.`);
  }
  const [{ step }] = planes; // more than 1 where luma and chroma take turns
  if (left % step === 0) return { left, top, width, height };
  throw checks.unfit(
    "pointer",
    `crop_left of its AVFrame is ${left}, and ${name} has no pixels of fewer than ${step}.`,
  );
}

function sound(fields: Fields): Contents {
  const { format, nb_samples: samples, channels, sample_rate: sampleRate } = fields;
  const found = SAMPLES.get(format);
  if (found === undefined) throw checks.wrong("pointer", `its AVFrame has no sample format (${format}).`);
  const [dtype, form] = found;
  const media = mediaOf(fields);
  const info = frameInfo({ type: "audio", format: dtype, sampleRate, channels, samples, layout: form, media });
  const blocks = new Blocks(fields);
  return { info, planes: planeLayouts(info).map((plane, i) => blocks.plane(i, 0, plane)) };
}

/** The AVBufferRefs of an AVFrame, and what they say. */
export function buffersOf({ view, extended_buf, nb_extended_buf }: Fields) {
  const { structs: { AVFrame, AVBufferRef, readAVBufferRef } } = avutil();
  const more = nb_extended_buf <= 0 ? undefined : viewAt(extended_buf, WORD * nb_extended_buf, "ffmpeg");
  const references = [
    ...words(view, AVFrame.fields.buf.offset, AV_NUM_DATA_POINTERS),
    ...more === undefined ? [] : words(more, 0, nb_extended_buf),
  ];
  return references.filter((reference) => reference !== NULL)
    .map((reference) => [reference, readAVBufferRef(viewAt(reference, AVBufferRef.size, "ffmpeg"), 0)] as const);
}

/** What an AVBufferRef refers to. */
export function bufferBytes(reference: Address): Address {
  const { structs: { AVBufferRef: { size }, readAVBufferRef } } = avutil();
  return readAVBufferRef(viewAt(reference, size, "ffmpeg"), 0).data;
}

/** The buffers that an AVFrame has references to. */
class Blocks {
  readonly #fields: Fields;
  readonly #blocks: AdoptedPlane["block"][];

  constructor(fields: Fields) {
    this.#fields = fields;
    this.#blocks = buffersOf(fields).map(([, { data: address, size }]) => {
      return { kind: "ffmpeg.buffer", address, byteLength: Number(size) };
    });
  }

  /** A plane, from so many bytes after its pointer on. */
  plane(
    i: number,
    skipped: number,
    { shape, dtype, strides }: Pick<Layout, "shape" | "dtype" | "strides">,
  ): AdoptedPlane {
    const data = viewAt(this.#fields.extended_data, WORD * (i + 1), "ffmpeg").getBigUint64(WORD * i, true);
    const block = this.#blocks.find(({ address, byteLength }) =>
      data >= address! && data < address! + BigInt(byteLength)
    );
    if (block === undefined) {
      throw checks.unfit("pointer", `plane ${i} of its AVFrame lies in none of the frame's buffers.`, REFERENCED);
    }
    if (block.address! % BigInt(sizeOf(dtype)) !== 0n) {
      throw checks.unfit(
        "pointer",
        `a buffer of its AVFrame begins at no multiple of the ${sizeOf(dtype)} bytes of ${dtype}.`,
      );
    }
    const at = layout({ shape, dtype, strides, byteOffset: Number(data - block.address!) + skipped });
    checks.assertWithin(at, block.byteLength, "pointer");
    return { handle: block.address, layout: at, block };
  }
}

/** What to do with a frame whose memory FFmpeg does not count references of. */
export const REFERENCED = "Let av_frame_get_buffer() allocate it, or map its memory by host.wrap().";

function words(view: DataView, offset: number, count: number): Address[] {
  return Array.from({ length: count }, (_, i) => view.getBigUint64(offset + WORD * i, true) as Address);
}

/** FFmpeg's names of the matrices that {@link Colour} knows. */
const MATRICES: Readonly<Record<string, NonNullable<Colour["matrix"]>>> = {
  smpte170m: "bt601",
  bt470bg: "bt601",
  bt709: "bt709",
  bt2020nc: "bt2020",
};

/** FFmpeg's name of a matrix. */
export function matrixNameOf(colour: Colour = {}): string | undefined {
  return Object.keys(MATRICES).find((name) => MATRICES[name] === colour.matrix);
}

function colourOf({ colorspace, color_range }: Fields, format: string): Colour | undefined {
  const matrix = MATRICES[namedText(avutil().fns.av_color_space_name(colorspace)) ?? ""];
  const range = FULL_RANGE.test(format) ? "full" : rangeOf(color_range);
  return matrix === undefined && range === undefined ? undefined : known({ matrix, range });
}

function rangeOf(number: number): Colour["range"] {
  return (["limited", "full"] as const).find((range) => RANGES[range] === number);
}

/** What FFmpeg has numbers and names for: our fact, the field, and how its functions begin. */
export const NAMED_FACTS = [
  ["matrix", "colorspace", "av_color_space"],
  ["primaries", "color_primaries", "av_color_primaries"],
  ["transfer", "color_trc", "av_color_transfer"],
  ["chromaLocation", "chroma_location", "av_chroma_location"],
] as const;

function mediaOf(fields: Fields): MediaFacts {
  const { pts, duration, time_base_num, time_base_den, aspect_num, aspect_den, key_frame } = fields;
  const { fns } = avutil();
  const names = NAMED_FACTS.map(([fact, field, fn]) => [fact, namedText(fns[`${fn}_name`](fields[field]))] as const);
  return known({
    pts: pts === AV_NOPTS_VALUE ? undefined : pts,
    duration: duration === 0n ? undefined : duration,
    timeBase: time_base_num === 0 ? undefined : Object.freeze([time_base_num, time_base_den] as const),
    keyFrame: key_frame !== 0,
    sampleAspect: aspect_num === 0 ? undefined : Object.freeze([aspect_num, aspect_den] as const),
    ...Object.fromEntries(names),
  });
}

/** A name of FFmpeg's; undefined for what is not specified. */
function namedText(address: Address): string | undefined {
  const text = textAt(address);
  return text === "unknown" || text === "unspecified" ? undefined : text;
}

/** The facts that are known. */
function known<T extends object>(facts: T): { readonly [K in keyof T]?: NonNullable<T[K]> } {
  return Object.freeze(Object.fromEntries(Object.entries(facts).filter(([, fact]) => fact !== undefined))) as T;
}
