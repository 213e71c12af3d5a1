import { type Address, NULL } from "../../ffi/address.ts";
import * as gs from "../../ffi/gstreamer/constants.ts";
import { GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_MAX_PLANES } from "../../ffi/gst_video/constants.ts";
import { isMade } from "../core/argument.ts";
import { rowStrideOf } from "../core/layout/facts.ts";
import { writes } from "../core/memory/access.ts";
import { cString } from "../core/native/text.ts";
import { Frame } from "../core/tensors/frame.ts";
import { type Loan, NativeLoans } from "../core/tensors/native_loans.ts";
import { endsOf } from "../core/tensors/pointer.ts";
import { audioInfoOf, nanoseconds, type Place, videoInfoOf } from "./caps.ts";
import type { GStreamerContext } from "./context.ts";
import { checks, glib, gst, gstAudio, gstVideo, made } from "./library.ts";
import type { GStreamerTensor } from "./memory.ts";
import { struct, unreference } from "./objects.ts";

/** What GStreamer has references to, of memory that is not its own. */
const loans = new NativeLoans("GStreamer");

let quark: number | undefined;

/** By which a GstMemory has what its end calls: its loan. */
function loanQuark(): number {
  return quark ??= glib().g_quark_from_string(cString("samepage-loan"));
}

/** True for a GstMemory that {@link lend} has made. */
export function isLent(memory: Address): boolean {
  return loans.has(gst().gst_mini_object_get_qdata(memory, loanQuark()));
}

/** A new GstBuffer over a frame's memory. The frame is in use until GStreamer has no reference to its memory any more. */
export function lentBuffer(context: GStreamerContext, frame: Frame): Address {
  const { object, flags } = lend(context, frame);
  for (const flag of flags) {
    frame.resource.usedBy(flag.fence());
    flag[Symbol.dispose](); // its fence goes on, and its memory stays until GStreamer's call
  }
  return object;
}

/**
 * A new GstBuffer over a frame's memory. The caller keeps that until GStreamer has no reference to it any more.
 *
 * @throws {ArgumentError} for what is no frame of this context, and a format that GStreamer does not have.
 * @throws {LayoutError} for rows with gaps in them, and planes in too many blocks.
 */
export function lend(context: GStreamerContext, given: Frame): Loan<Address> {
  const frame = frameIn(context, given);
  const strides = frame.planes.map(({ layout }, i) => {
    const stride = rowStrideOf(layout);
    if (stride !== undefined) return stride;
    throw checks.unfit("frame", `there are gaps within the rows of plane ${i}, and a GstBuffer has none.`);
  });
  const addMeta = metaOf(frame);
  const { media = {} } = frame.info;
  const pts = nanoseconds(media.pts, media, gs.GST_CLOCK_TIME_NONE);
  const duration = nanoseconds(media.duration, media, gs.GST_CLOCK_TIME_NONE);
  return loans.lend<GStreamerTensor, Address>(frame, "frame", (blocks, undo) => {
    const most = gst().gst_buffer_get_max_memory();
    if (blocks.length > most) {
      throw checks.unfit("frame", `its planes lie in ${blocks.length} blocks, and a GstBuffer takes ${most}.`);
    }
    const buffer = made(gst().gst_buffer_new(), "gst_buffer_new");
    undo.push(() => unreference(buffer));
    const offsets = new Map<GStreamerTensor, number>();
    const flags = writes(frame.access) ? 0 : gs.GST_MEMORY_FLAG_READONLY;
    let byteLength = 0;
    for (const { planes, callback, data } of blocks) {
      const [start, end] = endsOf(planes);
      const size = end - start;
      const memory = gst().gst_memory_new_wrapped(flags, start, size, 0n, size, NULL, NULL);
      gst().gst_mini_object_set_qdata(made(memory, "gst_memory_new_wrapped"), loanQuark(), data, callback);
      gst().gst_buffer_append_memory(buffer, memory);
      for (const plane of planes) offsets.set(plane, byteLength + Number(plane.address - start));
      byteLength += Number(size);
    }
    addMeta(buffer, frame.planes.map((plane, i) => ({ offset: offsets.get(plane)!, stride: strides[i] })));
    const fields = struct.at("GstBuffer", buffer);
    Object.assign(fields, { pts, duration });
    if (media.keyFrame === false) fields.flags |= gs.GST_BUFFER_FLAG_DELTA_UNIT;
    if (media.discontinuous === true) fields.flags |= gs.GST_BUFFER_FLAG_DISCONT;
    return buffer;
  });
}

/** A frame that a program hands over. @throws {ArgumentError} for what is no frame of this context. */
export function frameIn(context: GStreamerContext, frame: Frame): Frame<GStreamerTensor> {
  if (!isMade<Frame<GStreamerTensor>>(frame, Frame)) throw checks.wrongKind("frame", "a Frame", frame, OF_TENSORS);
  checks.assertHere(frame.target.context, context, "frame");
  return frame;
}

const OF_TENSORS = "Make a frame of the mapped tensor: Frame.of([tensor], info).";

/** What says in a buffer where planes lie. */
function metaOf({ info, planes }: Frame): (buffer: Address, places: readonly Place[]) => void {
  if (info.type !== "audio") {
    const { view } = videoInfoOf(info);
    const format = struct.type("GstVideoFormatInfo").copyOf(view.getBigUint64(0, true) as Address).format;
    return (buffer, places) => {
      const offsets = BigUint64Array.from({ length: GST_VIDEO_MAX_PLANES }, (_, i) => BigInt(places[i]?.offset ?? 0));
      const strides = Int32Array.from({ length: GST_VIDEO_MAX_PLANES }, (_, i) => places[i]?.stride ?? 0);
      const { width, height } = info;
      const fn = gstVideo().gst_buffer_add_video_meta_full;
      const about = [GST_VIDEO_FRAME_FLAG_NONE, format, width, height, planes.length, offsets, strides] as const;
      made(fn(buffer, ...about), "gst_buffer_add_video_meta_full");
    };
  }
  const { view } = audioInfoOf(info);
  if (info.layout === "interleaved") return () => {};
  return (buffer, places) => {
    const offsets = BigUint64Array.from(places, ({ offset }) => BigInt(offset));
    made(
      gstAudio().gst_buffer_add_audio_meta(buffer, view, BigInt(info.samples), offsets),
      "gst_buffer_add_audio_meta",
    );
  };
}
