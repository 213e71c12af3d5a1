import { type Address, NULL } from "../../ffi/address.ts";
import { GstVideoAlignment } from "../../ffi/gst_video/structs.ts";
import { thenUndo } from "../core/life/undo.ts";
import { cString } from "../core/native/text.ts";
import { gst, gstVideo, made, takenError } from "./library.ts";
import { structs, unreference } from "./objects.ts";

/**
 * What each buffer of a proposed pool has: a GstVideoMeta, with the strides that the alignment gives. The query itself says
 * nothing of that meta: FFmpeg's decoders would lay their pictures out by themselves.
 */
const OPTIONS = ["GstBufferPoolOptionVideoMeta", "GstBufferPoolOptionVideoAlignment"];

/**
 * The bytes of a picture of a pad's caps, whose rows begin at multiples of `rowAlign` bytes; 0 where the caps are not
 * those of pictures. With `rowAlign`, an ALLOCATION query is given a pool of GStreamer's own with that layout: the
 * element takes the pool's memory from the allocator that the query is given too.
 */
export function sizeFor(pad: Address, query: Address, rowAlign: number | undefined): number {
  const caps = gst().gst_pad_get_current_caps(pad);
  if (caps === NULL) return 0;
  return thenUndo("looking at what comes to a sink", (undo) => {
    undo.push(() => unreference(caps));
    const info = structs.GstVideoInfo.blank();
    if (gstVideo().gst_video_info_from_caps(info.view, caps) === 0) return 0;
    if (rowAlign === undefined) return Number(info.size);
    const align = alignmentOf(rowAlign);
    if (gstVideo().gst_video_info_align(info.view, align) === 0) throw takenError(NULL, "gst_video_info_align");
    const size = Number(info.size);
    const pool = made(gstVideo().gst_video_buffer_pool_new(), "gst_video_buffer_pool_new");
    undo.push(() => gst().gst_object_unref(pool));
    const config = made(gst().gst_buffer_pool_get_config(pool), "gst_buffer_pool_get_config");
    gst().gst_buffer_pool_config_set_params(config, caps, size, 0, 0);
    for (const option of OPTIONS) gst().gst_buffer_pool_config_add_option(config, cString(option));
    gstVideo().gst_buffer_pool_config_set_video_alignment(config, align);
    if (gst().gst_buffer_pool_set_config(pool, config) === 0) throw takenError(NULL, "gst_buffer_pool_set_config");
    gst().gst_query_add_allocation_pool(query, pool, size, 0, 0);
    return size;
  });
}

/** A GstVideoAlignment, which calls fill in: a row's length has these bits clear. */
function alignmentOf(rowAlign: number): DataView<ArrayBuffer> {
  const align = new DataView(new ArrayBuffer(GstVideoAlignment.size));
  const { stride_align: { offset } } = GstVideoAlignment.fields;
  for (let at = offset; at < GstVideoAlignment.size; at += 4) align.setUint32(at, rowAlign - 1, true);
  return align;
}
