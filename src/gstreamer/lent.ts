import { type Address, NULL } from "../../ffi/address.ts";
import * as gs from "../../ffi/gstreamer/constants.ts";
import { GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_MAX_PLANES } from "../../ffi/gst_video/constants.ts";
import type { ImageInfo } from "../core/layout/frame_info.ts";
import { type Access, writes } from "../core/memory/access.ts";
import { cString } from "../core/native/text.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { type Loan, NativeLoans } from "../core/tensors/native_loans.ts";
import { endsOf } from "../core/tensors/pointer.ts";
import { stridesIn } from "../media/given.ts";
import { audioInfoOf, nanoseconds } from "./caps.ts";
import type { GStreamerContext } from "./context.ts";
import { formats } from "./formats.ts";
import { checks, glib, gst, gstAudio, gstVideo, made } from "./library.ts";
import type { WrappedMemory } from "./native_memory.ts";
import { writeMetas } from "./metas.ts";
import { structs, unreference } from "./objects.ts";

/** What GStreamer has references to, of memory that is not its own. */
export const loans: NativeLoans = new NativeLoans("GStreamer");

let quark: number | undefined;

/** The quark under which a GstMemory holds its loan, which its end calls. */
function loanQuark(): number {
  return quark ??= glib().g_quark_from_string(cString("samepage-loan"));
}

/** True for a GstMemory of a buffer that a program got for a frame. */
export function isLent(memory: Address): boolean {
  return loans.areSome && loans.has(gst().gst_mini_object_get_qdata(memory, loanQuark()));
}

/**
 * A new GstBuffer over a frame's memory. The caller keeps that until GStreamer has no reference to it.
 *
 * @throws {ArgumentError} for anything but a frame of this context, and a format that GStreamer does not have.
 * @throws {LayoutError} for rows with gaps in them, and planes in too many blocks.
 */
export function lend(context: GStreamerContext, frame: Frame, access: Access): Loan<Address> {
  const picture = frame.target.context === context ? undefined : context.on!.natives!.pictureOf(frame);
  const { planes: places } = frame.described;
  const strides = picture === undefined
    ? [...stridesIn(checks, places, "a GstBuffer")]
    : picture.planes.map(({ stride }) => stride);
  const addMeta = metaOf(frame, strides);
  const { media = {} } = frame.info;
  const pts = nanoseconds(media.pts, media, gs.GST_CLOCK_TIME_NONE);
  const duration = nanoseconds(media.duration, media, gs.GST_CLOCK_TIME_NONE);
  const flags = (media.keyFrame === false ? gs.GST_BUFFER_FLAG_DELTA_UNIT : 0) |
    (media.discontinuous === true ? gs.GST_BUFFER_FLAG_DISCONT : 0);
  return loans.lend<Address>(frame, access, (blocks, undo) => {
    const most = gst().gst_buffer_get_max_memory();
    if (blocks.length > most) {
      throw checks.unfit("frame", `its planes lie in ${blocks.length} blocks, and a GstBuffer takes ${most}.`);
    }
    const buffer = made(gst().gst_buffer_new(), "gst_buffer_new");
    undo.push(() => unreference(buffer));
    const offsets: number[] = [];
    let byteLength = 0;
    for (let b = 0; b < blocks.length; b++) {
      const { planes, data, callback } = blocks[b];
      const [start, end] = picture === undefined ? endsOf(planes) : [NULL, 0n];
      const { memory, size, stride } = picture === undefined
        ? wrapped(start, end)
        : context.native!.wrap(picture, b, frame.info as ImageInfo);
      if (!writes(access)) structs.GstMemory.at(memory).flags |= gs.GST_MEMORY_FLAG_READONLY;
      gst().gst_mini_object_set_qdata(memory, loanQuark(), data, callback);
      gst().gst_buffer_append_memory(buffer, memory);
      for (const plane of planes) {
        const i = places.indexOf(plane);
        offsets[i] = byteLength +
          (picture === undefined ? Number(plane.address! - start) : picture.planes[i]?.offset ?? 0);
        strides[i] ??= stride!;
      }
      byteLength += Number(size);
    }
    writeMetas(buffer, frame);
    addMeta(buffer, offsets);
    if ((pts & duration) !== gs.GST_CLOCK_TIME_NONE) Object.assign(structs.GstBuffer.at(buffer), { pts, duration });
    if (flags !== 0) gst().gst_buffer_set_flags(buffer, flags);
    return buffer;
  });
}

function wrapped(start: Address, end: bigint): WrappedMemory {
  const size = end - start;
  const memory = gst().gst_memory_new_wrapped(0, start, size, 0n, size, NULL, NULL);
  return { memory: made(memory, "gst_memory_new_wrapped"), size };
}

/** What says in a buffer where planes lie. */
function metaOf({ info }: Frame, strides: readonly number[]): (buffer: Address, offsets: readonly number[]) => void {
  if (info.type === "audio") {
    const { view } = audioInfoOf(info);
    if (info.layout === "interleaved") return () => {};
    return (buffer, offsets) => {
      const words = BigUint64Array.from(offsets, BigInt);
      const added = gstAudio().gst_buffer_add_audio_meta(buffer, view, BigInt(info.samples), words);
      made(added, "gst_buffer_add_audio_meta");
    };
  }
  const pixels = checks.pixelsIn(info, "frame");
  const { width, height } = pixels;
  const format = formats.numberFor(pixels);
  return (buffer, offsets) => {
    const count = offsets.length;
    for (let i = 0; i < count; i++) {
      OFFSETS[i] = BigInt(offsets[i]);
      STRIDES[i] = strides[i];
    }
    const { gst_buffer_add_video_meta_full: add } = gstVideo();
    const added = add(buffer, GST_VIDEO_FRAME_FLAG_NONE, format, width, height, count, OFFSETS, STRIDES);
    made(added, "gst_buffer_add_video_meta_full");
  };
}

/** Those of each plane there is are copied by the call that gets them. */
const OFFSETS = new BigUint64Array(GST_VIDEO_MAX_PLANES);
const STRIDES = new Int32Array(GST_VIDEO_MAX_PLANES);
