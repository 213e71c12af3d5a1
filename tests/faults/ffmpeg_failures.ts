/**
 * How FFmpeg's functions fail.
 *
 * @module
 */
import type { AVCodecs } from "../../ffi/avcodec59/functions.ts";
import type { AVFormats } from "../../ffi/avformat59/functions.ts";
import type { AVHWContext } from "../../ffi/avhwcontext57/functions.ts";
import type { AVUtil } from "../../ffi/avutil57/functions.ts";
import type { AVVulkan } from "../../ffi/avvulkan57/functions.ts";
import { ENOMEM } from "../../ffi/libc/errors.ts";
import type { Failure, Failures } from "./failures.ts";

/** Without memory, functions return null, or an AVERROR. */
const none: Failure = { result: 0n };
const failed: Failure = { result: -ENOMEM };

/** Names and numbers of constants cannot fail: they are looked up in tables. */
export const FFMPEG: Failures<AVUtil & AVHWContext & AVVulkan> = {
  avutil_version: undefined,
  av_version_info: undefined,
  av_log_get_level: undefined,
  av_log_set_level: undefined,
  av_frame_alloc: none,
  av_frame_free: undefined,
  av_frame_is_writable: undefined,
  av_frame_make_writable: failed,
  av_frame_ref: failed,
  av_frame_unref: undefined,
  av_frame_move_ref: undefined,
  av_frame_new_side_data: none,
  av_buffer_create: none,
  av_buffer_get_opaque: undefined,
  av_pix_fmt_desc_get: undefined,
  av_get_pix_fmt: undefined,
  av_strerror: undefined,
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
  av_vk_frame_alloc: none,
  av_free: undefined,
};

/** Without a codec of that name or number, null as well. */
export const FFMPEG_CODEC: Failures<AVCodecs> = {
  avcodec_version: undefined,
  avcodec_configuration: undefined,
  av_version_info: undefined,
  avcodec_get_name: undefined,
  avcodec_find_decoder: none,
  avcodec_find_encoder: none,
  av_codec_iterate: undefined,
  av_codec_is_decoder: undefined,
  avcodec_get_hw_config: undefined,
  avcodec_find_encoder_by_name: none,
  avcodec_alloc_context3: none,
  avcodec_free_context: undefined,
  avcodec_open2: failed,
  avcodec_parameters_to_context: failed,
  avcodec_parameters_from_context: failed,
  avcodec_flush_buffers: undefined,
  avcodec_send_packet: failed,
  avcodec_receive_frame: failed,
  avcodec_receive_frame_async: failed,
  avcodec_send_frame: failed,
  avcodec_receive_packet: failed,
  avcodec_receive_packet_async: failed,
  avcodec_align_dimensions2: undefined,
  avcodec_default_get_buffer2: failed,
  av_packet_alloc: none,
  av_packet_free: undefined,
  av_packet_unref: undefined,
  av_get_pix_fmt_name: undefined,
  av_get_sample_fmt_name: undefined,
  av_frame_unref: undefined,
  av_frame_move_ref: undefined,
  av_buffer_unref: undefined,
  av_buffer_pool_init2: none,
  av_buffer_pool_get: none,
  av_buffer_pool_uninit: undefined,
  av_dict_set: failed,
  av_dict_get: undefined,
  av_dict_free: undefined,
  av_channel_layout_default: undefined,
};

export const FFMPEG_FORMAT: Failures<AVFormats> = {
  avformat_version: undefined,
  avcodec_configuration: undefined,
  av_version_info: undefined,
  avformat_alloc_context: none,
  avformat_open_input: failed,
  avformat_find_stream_info: failed,
  av_find_best_stream: failed,
  av_read_frame: failed,
  avformat_seek_file: failed,
  avformat_close_input: undefined,
  avformat_alloc_output_context2: failed,
  avformat_new_stream: none,
  avformat_query_codec: undefined,
  avformat_write_header: failed,
  av_interleaved_write_frame: failed,
  av_write_trailer: failed,
  avformat_free_context: undefined,
  avio_open2: failed,
  avio_close: undefined, // of a file that was read, it returns the error of the last read
  avio_closep: { ...failed, release: true },
  av_guess_format: none,
  av_guess_codec: undefined,
};
