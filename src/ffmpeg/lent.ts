import type { Address } from "../../ffi/address.ts";
import * as av from "../../ffi/avutil57/constants.ts";
import { CODED_FACTS, codeOf } from "../core/layout/facts.ts";
import type { AudioInfo, FrameInfo, MediaFacts } from "../core/layout/frame_info.ts";
import { type Access, writes } from "../core/memory/access.ts";
import type { DescribedPlane } from "../core/tensors/described.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { type Loan, NativeLoans } from "../core/tensors/native_loans.ts";
import { endsOf } from "../core/tensors/pointer.ts";
import { stridesIn } from "../media/given.ts";
import { formats, RANGES, SAMPLES } from "./formats.ts";
import type { Fields, SpareFrames } from "./fields.ts";
import { CODED_FIELDS } from "./frame.ts";
import type { Hardware } from "./hardware.ts";
import { avutil, checks, made } from "./library.ts";
import { addSideData } from "./side_data.ts";

/** What FFmpeg has references to, of memory that is not its own. */
export const loans: NativeLoans = new NativeLoans("FFmpeg");

/** True for a buffer of an AVFrame that a program got for a frame. */
export function isLent(buffer: Address): boolean {
  return loans.areSome && loans.has(avutil().fns.av_buffer_get_opaque(buffer));
}

/** A new AVFrame over a frame's memory. The caller keeps that until FFmpeg has no reference to it. */
export function lend(spares: SpareFrames, frame: Frame, access: Access, hardware?: Hardware): Loan<Address> {
  const { info } = frame;
  const format = info.type === "audio" ? sampleFormatOf(info) : formats.numberFor(checks.pixelsIn(info, "frame"));
  const { planes } = frame.described;
  const linesizes = hardware === undefined ? stridesIn(checks, planes, "an AVFrame") : undefined;
  return loans.lend<Address>(frame, access, (blocks, undo) => {
    const fields = spares.take();
    undo.push(() => spares.give(fields));
    const { fns, structs: { AVFrame: { fields: { buf } } } } = avutil();
    const { view, address: from } = fields;
    fields.format = hardware?.format ?? format;
    writeFacts(fields, info);
    addSideData(from, frame.metadata);
    if (linesizes !== undefined) writePlaces(view, planes, linesizes);
    const first = hardware === undefined ? 0 : hardware.write(fields, frame, format);
    for (let i = 0; i < blocks.length; i++) {
      const { planes, callback, data } = blocks[i];
      // Only a surface's API has an address for it: the buffer stands for it.
      const [start, end] = hardware === undefined ? endsOf(planes) : [data, data + 1n];
      const flag = writes(access) ? 0 : av.AV_BUFFER_FLAG_READONLY;
      const buffer = fns.av_buffer_create(start, end - start, callback, data, flag);
      view.setBigUint64(buf.offset + 8 * (first + i), made(buffer, "av_buffer_create"), true);
    }
    const own = made(fns.av_frame_alloc(), "av_frame_alloc");
    fns.av_frame_move_ref(own, from);
    spares.giveCleared(fields);
    return own;
  });
}

/** Writes where planes lie. */
function writePlaces(view: DataView, planes: readonly DescribedPlane[], linesizes: readonly number[]): void {
  const { AVFrame: { fields: { data, linesize } } } = avutil().structs;
  for (let i = 0; i < planes.length; i++) {
    view.setBigUint64(data.offset + 8 * i, planes[i].address!, true);
    view.setInt32(linesize.offset + 4 * i, linesizes[i], true);
  }
}

/** Describes a frame in a new AVFrame, which has FFmpeg's numbers for what is unknown, except for its format. */
function writeFacts(fields: Fields, info: FrameInfo): void {
  const { media = NO_FACTS } = info;
  const { pts, duration, timeBase, sampleAspect, keyFrame = true } = media;
  if (pts !== undefined) fields.pts = pts;
  if (duration !== undefined) fields.duration = duration;
  if (timeBase !== undefined) [fields.time_base_num, fields.time_base_den] = timeBase;
  fields.key_flags = keyFrame ? avutil().structs.keyFrame : 0;
  if (info.type === "audio") {
    fields.channels = info.channels;
    fields.nb_samples = info.samples;
    fields.sample_rate = info.sampleRate;
    return;
  }
  const pixels = checks.pixelsIn(info, "frame");
  const { width, height, colour } = pixels;
  if (sampleAspect !== undefined) [fields.aspect_num, fields.aspect_den] = sampleAspect;
  fields.width = width;
  fields.height = height;
  if (colour?.range !== undefined) fields.color_range = RANGES[colour.range];
  if (media === NO_FACTS && colour === undefined) return; // to look for each fact takes as long as all else here
  for (const fact of CODED_FACTS) {
    const code = codeOf(fact, pixels);
    if (code !== undefined) fields[CODED_FIELDS[fact]] = code;
  }
}

const NO_FACTS: MediaFacts = {};

function sampleFormatOf({ format: dtype, layout, channels }: AudioInfo): number {
  const format = SAMPLES.entries().find(([, [type, form]]) => type === dtype && form === layout)?.[0];
  if (format === undefined) throw checks.wrong("frame", `FFmpeg has no sound of ${dtype}.`);
  if (layout === "interleaved" || channels <= av.AV_NUM_DATA_POINTERS) return format;
  throw checks.wrong("frame", `expected at most ${av.AV_NUM_DATA_POINTERS} planes, got ${channels}.`);
}
