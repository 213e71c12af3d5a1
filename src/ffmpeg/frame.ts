import { type Address, NULL } from "../../ffi/address.ts";
import { AV_NOPTS_VALUE, AV_NUM_DATA_POINTERS } from "../../ffi/avutil57/constants.ts";
import type { AdoptedPlane } from "../core/tensors/adopt.ts";
import type { PlaneLayout } from "../core/layout/components.ts";
import { codedFacts, colourOf, known, nameIn } from "../core/layout/facts.ts";
import { layoutWithin, type Part, partIn } from "../core/layout/held_picture.ts";
import type { FrameInfo, MediaFacts } from "../core/layout/frame_info.ts";
import { shortList, type Undo } from "../core/life/undo.ts";
import { viewAt } from "../core/native/pin.ts";
import type { InMemory, StructType } from "../core/native/struct_type.ts";
import { Recent } from "../core/recent.ts";
import { type Fields, freed } from "./fields.ts";
import { formats, FULL_RANGE, RANGES, SAMPLES } from "./formats.ts";
import type { Metadata } from "../core/tensors/metadata.ts";
import type { PixelsFormat } from "../media/formats.ts";
import { type HeldBlock, type HeldPlane, type HeldStream, type Placing, planesIn, soundOf } from "../media/held.ts";
import { avutil, checks, made, struct } from "./library.ts";
import { metadataOf } from "./side_data.ts";
import type { Structs } from "./versions.ts";

const WORD = 8;

/** An AVFrame without memory; `undo` frees it, and with it the references that it has got. */
export function newFrame(undo: Undo): Address {
  const { fns } = avutil();
  const frame = made(fns.av_frame_alloc(), "av_frame_alloc");
  undo.push(() => freed(frame));
  return frame;
}

/** What an AVFrame is, and where its planes lie: in FFmpeg's buffers. */
export interface Contents {
  /** What all frames of its stream are. */
  readonly info: FrameInfo;
  readonly moment: MediaFacts;
  readonly planes: readonly AdoptedPlane[];
  readonly metadata: Metadata | undefined;
}

const streams = new Recent<HeldStream>();

/** @throws {ArgumentError} for a format that samepage has no layout for. @throws {LayoutError} for planes elsewhere. */
export function describe(fields: Fields, buffers: readonly Buffer[] = buffersOf(fields)): Contents {
  addNumbers(fields, buffers);
  const stream = streams.of(() => streamOf(fields, buffers));
  const planes = planesIn(buffers, stream);
  return { info: stream.info, moment: momentOf(fields), planes, metadata: metadataOf(fields) };
}

function streamOf(fields: Fields, buffers: readonly Buffer[]): HeldStream {
  const { width, height, nb_samples } = fields;
  const place: Placing = (plane, i) => placed(fields, buffers, i, plane);
  if (width > 0 && height > 0) return picture(fields, place);
  if (nb_samples > 0) return sound(fields, place);
  throw checks.wrong("pointer", "its AVFrame is empty: it has no pixels, and no samples.");
}

/** The fields that a stream's frames have in common, as 32-bit numbers. */
const COMMON = [
  ...["format", "width", "height", "nb_samples", "channels", "sample_rate", "aspect_num", "aspect_den"],
  ...["time_base_num", "time_base_den", "color_range", "colorspace", "color_primaries", "color_trc", "chroma_location"],
];
const CROPS = ["crop_left", "crop_right", "crop_top", "crop_bottom"];

/** The offsets of those numbers, and of the line sizes. */
let commonAt: readonly number[] | undefined;

function offsetsOfCommon(): readonly number[] {
  const { fields } = avutil().structs.AVFrame;
  return [
    ...COMMON.map((name) => fields[name as "format"].offset),
    ...CROPS.flatMap((name) => [0, 4].map((half) => fields[name as "crop_left"].offset + half)),
    ...Array.from({ length: AV_NUM_DATA_POINTERS }, (_, i) => fields.linesize.offset + 4 * i),
  ];
}

/** All numbers that {@link streamOf} looks at. */
function addNumbers(fields: Fields, buffers: readonly Buffer[]): void {
  streams.begin();
  streams.addWordsAt(fields.view, commonAt ??= offsetsOfCommon());
  streams.addBlocks(buffers);
  const pointers = pointersIn(fields);
  for (let i = 0; i < pointers.length; i++) {
    const at = placeOf(pointers[i], i, buffers);
    streams.add(at);
    streams.add(at < 0 ? 0 : pointers[i] - buffers[at].at);
  }
}

function picture(fields: Fields, place: Placing): HeldStream {
  const format = formats.at(fields.format, "pointer");
  const about = {
    ...pictureFacts(fields, format.name),
    crop: cropOf(fields, format),
    strideOf: (i: number) => fields.view.getInt32(avutil().structs.AVFrame.fields.linesize.offset + 4 * i, true),
    strideName: (i: number) => `linesize[${i}] of its AVFrame`,
    remedy: "Copy it: av_frame_copy() to a frame of av_frame_get_buffer().",
  };
  return formats.streamOf(format, about, place);
}

/** What is known of a picture besides its pixels. */
export function pictureFacts(fields: Fields, format: string) {
  const media = mediaOf(fields);
  const range = FULL_RANGE.test(format) ? "full" : nameIn(RANGES, fields.color_range);
  const colour = colourOf(media.matrix, range);
  return { media, ...colour && { colour } };
}

/** The part of the picture that is shown. */
export function cropOf(fields: Fields, format: PixelsFormat): Part {
  const [left, right, top, bottom] = [fields.crop_left, fields.crop_right, fields.crop_top, fields.crop_bottom]
    .map(Number);
  const part = { left, top, width: fields.width - left - right, height: fields.height - top - bottom };
  return partIn(checks, part, fields, format, "AVFrame");
}

function sound(fields: Fields, place: Placing): HeldStream {
  const { format, nb_samples: samples, channels, sample_rate: sampleRate } = fields;
  const found = SAMPLES.get(format);
  if (found === undefined) throw checks.wrong("pointer", `its AVFrame has no sample format (${format}).`);
  const [dtype, layout] = found;
  return soundOf(
    { type: "audio", format: dtype, sampleRate, channels, samples, layout, media: timesOf(fields) },
    place,
  );
}

/** A buffer to which an AVFrame has a reference, and that reference. */
export interface Buffer extends HeldBlock {
  readonly reference: Address;
  /** Its address as a {@link placeAt}. */
  readonly at: number;
}

let references: StructType<Structs["AVBufferRef"]> | undefined;

/** The contents of an AVBufferRef; valid until the next call. */
function referenceAt(address: Address): InMemory<Structs["AVBufferRef"]> {
  return (references ??= struct.type("AVBufferRef")).copyOf(address);
}

/** What an AVBufferRef refers to. */
export function bufferBytes(reference: Address): Address {
  return referenceAt(reference).data;
}

/** The buffers of an AVFrame that FFmpeg has made. */
export function buffersOf(fields: Fields): Buffer[] {
  const { view, nb_extended_buf } = fields;
  const buffers = buffersIn(view, avutil().structs.AVFrame.fields.buf.offset, AV_NUM_DATA_POINTERS);
  if (nb_extended_buf <= 0) return buffers;
  const more = viewAt(fields.extended_buf, WORD * nb_extended_buf, "ffmpeg");
  return [...buffers, ...buffersIn(more, 0, nb_extended_buf)];
}

/** Those of a list of references, which has no gaps. */
function buffersIn(view: DataView, from: number, most: number): Buffer[] {
  const { data, size } = avutil().structs.AVBufferRef.fields;
  const buffers = shortList<Buffer>();
  for (let i = 0; i < most; i++) {
    const reference = addressIn(view, from + WORD * i);
    if (reference === NULL) break;
    const said = referenceAt(reference);
    const at = placeAt(said.view, data.offset);
    const byteLength = placeAt(said.view, size.offset);
    buffers.push({ kind: "ffmpeg.buffer", reference, address: said.data, at, byteLength });
  }
  return buffers;
}

/** The addresses of an AVFrame's planes, as {@link placeAt}. */
function pointersIn(fields: Fields): number[] {
  const { data } = avutil().structs.AVFrame.fields;
  if (fields.nb_samples <= 0) return pointersFrom(fields.view, data.offset, AV_NUM_DATA_POINTERS);
  const { view, address, extended_data, channels } = fields;
  if (extended_data === address + BigInt(data.offset)) return pointersFrom(view, data.offset, AV_NUM_DATA_POINTERS);
  return pointersFrom(viewAt(extended_data, WORD * channels, "ffmpeg"), 0, channels);
}

function pointersFrom(view: DataView, from: number, most: number): number[] {
  const planes = shortList<number>();
  for (let i = 0; i < most; i++) {
    const plane = placeAt(view, from + WORD * i);
    if (plane === 0) break;
    planes.push(plane);
  }
  return planes;
}

/** An address, or a length, as a number: they have 47 bits. As bigints they would take longer than all else of a frame. */
function placeAt(view: DataView, offset: number): number {
  return view.getUint32(offset, true) + 2 ** 32 * view.getUint32(offset + 4, true);
}

/** The index of the buffer in which an address lies; negative for none. Tries the plane's own number first. */
function placeOf(plane: number, i: number, buffers: readonly Buffer[]): number {
  if (i < buffers.length && isIn(plane, buffers[i])) return i;
  for (let b = 0; b < buffers.length; b++) if (isIn(plane, buffers[b])) return b;
  return -1;
}

function isIn(plane: number, { at, byteLength }: Buffer): boolean {
  return plane >= at && plane < at + byteLength;
}

/** Where a plane lies. Its layout counts from its pointer. */
function placed(
  fields: Fields,
  buffers: readonly Buffer[],
  i: number,
  plane: PlaneLayout,
): HeldPlane {
  const data = pointersIn(fields)[i];
  const at = data === undefined ? -1 : placeOf(data, i, buffers);
  if (at < 0) {
    throw checks.unfit("pointer", `plane ${i} of its AVFrame lies in none of the frame's buffers.`, REFERENCED);
  }
  const start = data - buffers[at].at;
  return [at, layoutWithin(checks, plane, start, buffers[at], "a buffer of its AVFrame")];
}

/** The remedy for a frame whose memory has no counted references. */
export const REFERENCED = "Let av_frame_get_buffer() allocate it, or map its memory by host.wrap().";

function addressIn(view: DataView, offset: number): Address {
  return view.getBigUint64(offset, true) as Address;
}

/** The fields of what H.273 has numbers for. */
export const CODED_FIELDS = {
  matrix: "colorspace",
  primaries: "color_primaries",
  transfer: "color_trc",
  chromaLocation: "chroma_location",
} as const;

/** What a frame alone has. */
export function momentOf({ pts, duration, key_flags }: Fields): MediaFacts {
  const keyFrame = (key_flags & avutil().structs.keyFrame) !== 0;
  if (pts === AV_NOPTS_VALUE) return duration === 0n ? { keyFrame } : { duration, keyFrame };
  return duration === 0n ? { pts, keyFrame } : { pts, duration, keyFrame };
}

/** What it has like the others of its stream. */
function mediaOf(fields: Fields): MediaFacts {
  const { aspect_num, aspect_den } = fields;
  return known({
    ...timesOf(fields),
    sampleAspect: aspect_num === 0 ? undefined : Object.freeze([aspect_num, aspect_den] as const),
    ...codedFacts((fact) => fields[CODED_FIELDS[fact]]),
  });
}

/** The facts about sound, without those of pictures, which FFmpeg leaves zero: zero has a name among them. */
function timesOf({ time_base_num, time_base_den }: Fields): MediaFacts {
  return known({
    timeBase: time_base_num === 0 ? undefined : Object.freeze([time_base_num, time_base_den] as const),
  });
}
