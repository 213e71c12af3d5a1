/**
 * How libavutil's functions fail.
 *
 * @module
 */
import type { AVHWContext } from "../../ffi/avhwcontext57/functions.ts";
import type { AVUtil } from "../../ffi/avutil57/functions.ts";
import { ENOMEM } from "../../ffi/libc/errors.ts";
import type { Failure, Failures } from "./failures.ts";

/** Without memory, functions return null, or an AVERROR. */
const none: Failure = { answer: 0n };
const failed: Failure = { answer: -ENOMEM };

/** Names and numbers of constants cannot fail: they are looked up in tables. */
export const FFMPEG: Failures<AVUtil & AVHWContext> = {
  avutil_version: undefined,
  av_version_info: undefined,
  av_frame_alloc: none,
  av_frame_free: undefined,
  av_frame_is_writable: undefined,
  av_frame_make_writable: failed,
  av_frame_ref: failed,
  av_buffer_create: none,
  av_buffer_get_opaque: undefined,
  av_pix_fmt_desc_get: undefined,
  av_get_pix_fmt: undefined,
  av_color_primaries_name: undefined,
  av_color_transfer_name: undefined,
  av_color_space_name: undefined,
  av_chroma_location_name: undefined,
  av_color_primaries_from_name: undefined,
  av_color_transfer_from_name: undefined,
  av_color_space_from_name: undefined,
  av_chroma_location_from_name: undefined,
  av_buffer_allocz: none,
  av_buffer_ref: none,
  av_buffer_unref: undefined,
  av_buffer_get_ref_count: undefined,
  av_hwdevice_iterate_types: undefined,
  av_hwdevice_get_type_name: undefined,
  av_hwdevice_ctx_alloc: none,
  av_hwdevice_ctx_init: failed,
  av_hwframe_ctx_alloc: none,
  av_hwframe_ctx_init: failed,
};
