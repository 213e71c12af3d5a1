import { type Address, NULL } from "../../ffi/address.ts";
import * as gs from "../../ffi/gstreamer/constants.ts";
import { GST_FD_MEMORY_FLAG_DONT_CLOSE } from "../../ffi/gst_allocators/constants.ts";
import { GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_MAX_PLANES } from "../../ffi/gst_video/constants.ts";
import { isMade } from "../core/argument.ts";
import type { NativePicture, PictureObject } from "../core/contract.ts";
import { rowStrideOf } from "../core/layout/facts.ts";
import { type Access, writes } from "../core/memory/access.ts";
import { cString } from "../core/native/text.ts";
import { Frame } from "../core/tensors/frame.ts";
import { type Loan, NativeLoans } from "../core/tensors/native_loans.ts";
import { endsOf } from "../core/tensors/pointer.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import { audioInfoOf, formatOf, nanoseconds } from "./caps.ts";
import type { GStreamerContext } from "./context.ts";
import { checks, glib, gst, gstAllocators, gstAudio, gstVideo, made } from "./library.ts";
import type { GStreamerTensor } from "./memory.ts";
import { writeMetas } from "./metas.ts";
import { structs, unreference } from "./objects.ts";

/** What GStreamer has references to, of memory that is not its own. */
const loans = new NativeLoans("GStreamer");

let quark: number | undefined;

/** By which a GstMemory has what its end calls: its loan. */
function loanQuark(): number {
  return quark ??= glib().g_quark_from_string(cString("samepage-loan"));
}

/** True for a GstMemory that {@link lend} has made. */
export function isLent(memory: Address): boolean {
  return loans.areSome && loans.has(gst().gst_mini_object_get_qdata(memory, loanQuark()));
}

/** @throws {ArgumentError} for what is no frame. */
export function assertFrame(frame: unknown): asserts frame is Frame {
  if (!isMade<Frame>(frame, Frame)) throw checks.wrongKind("frame", "a Frame", frame, OF_TENSORS);
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
export function lend(context: GStreamerContext, frame: Frame): Loan<Address> {
  assertFrame(frame);
  const picture = pictureOf(context, frame);
  const strides = picture?.planes.map(({ stride }) => stride) ?? frame.planes.map(strideOf);
  const addMeta = metaOf(frame, strides);
  const { media = {} } = frame.info;
  const pts = nanoseconds(media.pts, media, gs.GST_CLOCK_TIME_NONE);
  const duration = nanoseconds(media.duration, media, gs.GST_CLOCK_TIME_NONE);
  const flags = (media.keyFrame === false ? gs.GST_BUFFER_FLAG_DELTA_UNIT : 0) |
    (media.discontinuous === true ? gs.GST_BUFFER_FLAG_DISCONT : 0);
  return loans.lend<Tensor, Address>(frame, (blocks, undo) => {
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
      const inMemory = planes as readonly GStreamerTensor[];
      const { memory, size, start } = picture === undefined
        ? wrapped(inMemory, frame.access)
        : dmaBufMemory(context, picture.objects[b], frame.access);
      gst().gst_mini_object_set_qdata(memory, loanQuark(), data, callback);
      gst().gst_buffer_append_memory(buffer, memory);
      for (const plane of inMemory) {
        const i = frame.planes.indexOf(plane);
        offsets[i] = byteLength + (picture?.planes[i].offset ?? Number(plane.address - start));
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

const OF_TENSORS = "Make a frame of the mapped tensor: Frame.of([tensor], info).";

/** The dma-bufs of a frame of the context that GStreamer's was opened on; undefined for a frame in memory. */
function pictureOf(context: GStreamerContext, frame: Frame): NativePicture | undefined {
  const { on, native } = context;
  if (on !== undefined && frame.target.context === on) {
    if (native!.lends) return on.natives!.pictureOf(frame);
    throw checks.wrong("frame", `GStreamer takes no pictures of ${on.name}.`, "Map it to the host, and from there.");
  }
  checks.assertHere(frame.target.context, context, "frame", "it", "Map it: graph.map(frame, gstreamer).");
  return undefined;
}

function strideOf({ layout }: Tensor, i: number): number {
  const stride = rowStrideOf(layout);
  if (stride !== undefined) return stride;
  throw checks.unfit("frame", `there are gaps within the rows of plane ${i}, and a GstBuffer has none.`);
}

/** A GstMemory, how long it is, and where it begins. */
interface Made {
  readonly memory: Address;
  readonly size: bigint;
  readonly start: Address;
}

function wrapped(planes: readonly GStreamerTensor[], access: Access): Made {
  const [start, end] = endsOf(planes);
  const size = end - start;
  const flags = writes(access) ? 0 : gs.GST_MEMORY_FLAG_READONLY;
  const memory = gst().gst_memory_new_wrapped(flags, start, size, 0n, size, NULL, NULL);
  return { memory: made(memory, "gst_memory_new_wrapped"), size, start };
}

/** The fd stays the frame's. */
function dmaBufMemory(context: GStreamerContext, { handle, byteLength }: PictureObject, access: Access): Made {
  const size = BigInt(byteLength!);
  const fn = gstAllocators().gst_dmabuf_allocator_alloc_with_flags;
  const memory = fn(context.dmaBufAllocator, Number(handle), size, GST_FD_MEMORY_FLAG_DONT_CLOSE);
  made(memory, "gst_dmabuf_allocator_alloc_with_flags");
  if (!writes(access)) structs.GstMemory.at(memory).flags |= gs.GST_MEMORY_FLAG_READONLY;
  return { memory, size, start: NULL };
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
  const format = formatOf(pixels);
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
