import type { Address } from "../../ffi/address.ts";
import * as av from "../../ffi/avutil57/constants.ts";
import { isMade } from "../core/argument.ts";
import type { Context } from "../core/graph/context.ts";
import { matrixNameOf, rowStrideOf } from "../core/layout/facts.ts";
import type { AudioInfo, FrameInfo, PixelsInfo } from "../core/layout/frame_info.ts";
import { writes } from "../core/memory/access.ts";
import { Frame } from "../core/tensors/frame.ts";
import { type Loan, NativeLoans } from "../core/tensors/native_loans.ts";
import { endsOf } from "../core/tensors/pointer.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import { ffmpegName, numberOf, pixelFormatNumber, pixelsFormat, RANGES, SAMPLES } from "./formats.ts";
import { type Fields, freed, type SpareFrames } from "./fields.ts";
import { NAMED_FACTS } from "./frame.ts";
import type { Hardware } from "./hardware.ts";
import { avutil, checks, made } from "./library.ts";
import type { FFmpegTensor } from "./memory.ts";
import { addSideData } from "./side_data.ts";

/** What FFmpeg has references to, of memory that is not its own. */
const loans = new NativeLoans("FFmpeg");

/** True for a buffer that {@link lentFrame} has made. */
export function isLent(buffer: Address): boolean {
  return loans.areSome && loans.has(avutil().fns.av_buffer_get_opaque(buffer));
}

/**
 * A frame that a program hands over to FFmpeg.
 *
 * @param on the context of FFmpeg's device, whose frames are taken as well
 * @throws {ArgumentError} for what is no frame of this context.
 */
export function frameIn<T extends Tensor>(context: Context, frame: Frame<T>, on?: Context): Frame<T> {
  if (!isMade<Frame<T>>(frame, Frame)) throw checks.wrongKind("frame", "a Frame", frame, OF_TENSORS);
  if (frame.target.context !== on) {
    checks.assertHere(frame.target.context, context, "frame", "it", "Map it: graph.map(frame, ffmpeg).");
  }
  return frame;
}

const OF_TENSORS = "Make a frame of the mapped tensor: Frame.of([tensor], info).";

/** A new AVFrame over a frame's memory. The frame is in use until FFmpeg has no reference to its memory any more. */
export function lentFrame(spares: SpareFrames, frame: Frame, hardware: Hardware | undefined): Address {
  const { object, flags } = lend(spares, frame, hardware);
  for (const flag of flags) {
    frame.resource.usedBy(flag.fence());
    flag[Symbol.dispose](); // its fence goes on, and its memory stays until FFmpeg's call
  }
  return object;
}

/** A new AVFrame over a frame's memory. The caller keeps that until FFmpeg has no reference to it any more. */
export function lend(spares: SpareFrames, frame: Frame, hardware?: Hardware): Loan<Address> {
  const { info } = frame;
  const format = info.type === "audio" ? sampleFormatOf(info) : pixelFormatOf(checks.pixelsIn(info, "frame"));
  const place = hardware === undefined ? placeInMemory(frame.planes as readonly FFmpegTensor[]) : undefined;
  return loans.lend<Tensor, Address>(frame, (blocks, undo) => {
    const fields = spares.take();
    undo.push(() => spares.give(fields));
    const { fns, structs: { AVFrame: { fields: { buf } } } } = avutil();
    const { view, address: from } = fields;
    fields.format = hardware?.format ?? format;
    writeFacts(fields, info);
    addSideData(from, frame.metadata);
    place?.(view);
    const first = hardware === undefined ? 0 : hardware.write(fields, frame, format);
    for (const [i, { planes, callback, data }] of blocks.entries()) {
      // Of a surface only its API has an address: the buffer stands for it.
      const [start, end] = hardware === undefined ? endsOf(planes as FFmpegTensor[]) : [data, data + 1n];
      const flag = writes(frame.access) ? 0 : av.AV_BUFFER_FLAG_READONLY;
      const buffer = fns.av_buffer_create(start, end - start, callback, data, flag);
      view.setBigUint64(buf.offset + 8 * (first + i), made(buffer, "av_buffer_create"), true);
    }
    const own = made(fns.av_frame_alloc(), "av_frame_alloc");
    fns.av_frame_move_ref(own, from);
    undo.pop(); // it has no references any more
    spares.give(fields);
    undo.push(() => freed(own));
    return own;
  });
}

/** What writes into an AVFrame where planes lie. @throws {LayoutError} for planes that no AVFrame has. */
function placeInMemory(planes: readonly FFmpegTensor[]): (view: DataView<ArrayBuffer>) => void {
  const linesizes = planes.map(linesizeOf);
  return (view) => {
    const { AVFrame: { fields: { data, linesize } } } = avutil().structs;
    for (const [i, { address }] of planes.entries()) {
      view.setBigUint64(data.offset + 8 * i, address, true);
      view.setInt32(linesize.offset + 4 * i, linesizes[i], true);
    }
  };
}

/** @throws {LayoutError} for gaps within a row. */
function linesizeOf({ layout }: FFmpegTensor, i: number): number {
  const stride = rowStrideOf(layout);
  if (stride !== undefined) return stride;
  throw checks.unfit("frame", `there are gaps within the rows of plane ${i}, and an AVFrame has none.`);
}

/** Writes into an AVFrame what a frame is, but for its format. */
function writeFacts(fields: Fields, info: FrameInfo): void {
  const { media = {} } = info;
  const { pts, duration = 0n, timeBase: [time_base_num, time_base_den] = [0, 1], keyFrame = true } = media;
  if (pts !== undefined) fields.pts = pts;
  fields.duration = duration;
  fields.time_base_num = time_base_num;
  fields.time_base_den = time_base_den;
  fields.key_flags = keyFrame ? avutil().structs.keyFrame : 0;
  if (info.type === "audio") {
    fields.channels = info.channels;
    fields.nb_samples = info.samples;
    fields.sample_rate = info.sampleRate;
    return;
  }
  const { width, height, colour } = checks.pixelsIn(info, "frame");
  [fields.aspect_num, fields.aspect_den] = media.sampleAspect ?? [0, 1];
  fields.width = width;
  fields.height = height;
  if (colour?.range !== undefined) fields.color_range = RANGES[colour.range];
  for (const [fact, field, fn] of NAMED_FACTS) {
    const name = media[fact] ?? (fact === "matrix" ? matrixNameOf(colour) : undefined);
    const number = name === undefined ? -1 : numberOf(`${fn}_from_name`, name);
    if (number >= 0) fields[field] = number; // what is left out stays unspecified
  }
}

function sampleFormatOf({ format: dtype, layout, channels }: AudioInfo): number {
  const format = SAMPLES.entries().find(([, [type, form]]) => type === dtype && form === layout)?.[0];
  if (format === undefined) throw checks.wrong("frame", `FFmpeg has no sound of ${dtype}.`);
  if (layout === "interleaved" || channels <= av.AV_NUM_DATA_POINTERS) return format;
  throw checks.wrong("frame", `expected at most ${av.AV_NUM_DATA_POINTERS} planes, got ${channels}.`);
}

function pixelFormatOf(info: PixelsInfo): number {
  const name = info.type === "image" ? ffmpegName(info.format) : info.format;
  const format = name === undefined ? -1 : pixelFormatNumber(name);
  if (format < 0) throw checks.wrong("frame", `FFmpeg has no format ${info.format}.`);
  if (info.type === "image") return format;
  const { planes } = pixelsFormat(format, "frame");
  if (JSON.stringify(planes) === JSON.stringify(info.planes)) return format;
  throw checks.wrong("frame", `its planes are not those of FFmpeg's ${name}.`, "ffmpeg.attach() describes them.");
}
