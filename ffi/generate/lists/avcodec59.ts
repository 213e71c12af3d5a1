import type { Library } from "../library.ts";
import { FOLDERS } from "./avutil57.ts";

/**
 * FFmpeg's libavcodec, with those functions of libavutil that only coding needs: libavcodec depends on libavutil, so that
 * the loader finds them through it.
 */
export const avcodec59: Library = {
  name: "avcodec59",
  interface: "AVCodecs",
  headers: [
    "libavcodec/avcodec.h",
    "libavutil/buffer.h",
    "libavutil/channel_layout.h",
    "libavutil/dict.h",
    "libavutil/error.h",
    "libavutil/log.h",
    "libavutil/opt.h",
    "libavutil/pixdesc.h",
    "libavutil/samplefmt.h",
  ],
  folders: FOLDERS,
  defines: {},
  functions: [
    "avcodec_version",
    ...["avcodec_configuration", "av_version_info"],
    "avcodec_get_name",
    ...["avcodec_find_decoder", "avcodec_find_encoder"],
    "av_codec_iterate",
    ...["av_codec_is_decoder", "avcodec_get_hw_config"].map((name) => ({ name, address: ["codec"] })),
    "avcodec_find_encoder_by_name",
    { name: "avcodec_alloc_context3", address: ["codec"] },
    "avcodec_free_context",
    { name: "avcodec_open2", address: ["avctx", "codec", "options"], nonblocking: true },
    { name: "avcodec_parameters_to_context", address: ["codec", "par"] },
    { name: "avcodec_parameters_from_context", address: ["par", "codec"] },
    { name: "avcodec_flush_buffers", address: ["avctx"], nonblocking: true },
    { name: "avcodec_send_packet", address: ["avctx", "avpkt"], nonblocking: true },
    { name: "avcodec_receive_frame", address: ["avctx", "frame"] },
    {
      name: "avcodec_receive_frame",
      as: "avcodec_receive_frame_async",
      address: ["avctx", "frame"],
      nonblocking: true,
    },
    { name: "avcodec_send_frame", address: ["avctx", "frame"], nonblocking: true },
    { name: "avcodec_receive_packet", address: ["avctx", "avpkt"] },
    {
      ...{ name: "avcodec_receive_packet", as: "avcodec_receive_packet_async" },
      ...{ address: ["avctx", "avpkt"], nonblocking: true },
    },
    { name: "avcodec_align_dimensions2", address: ["s"] },
    { name: "avcodec_default_get_buffer2", address: ["s", "frame"] },
    "av_packet_alloc",
    "av_packet_free",
    { name: "av_packet_unref", address: ["pkt"] },
    ...["av_get_pix_fmt_name", "av_get_sample_fmt_name"],
    { name: "av_frame_unref", address: ["frame"] },
    { name: "av_frame_move_ref", address: ["dst", "src"] },
    "av_buffer_unref",
    { name: "av_buffer_pool_init2", address: ["opaque"] },
    "av_buffer_pool_get",
    "av_buffer_pool_uninit",
    "av_dict_set",
    { name: "av_dict_get", address: ["m", "prev"] },
    "av_dict_free",
    { name: "av_channel_layout_default", address: ["ch_layout"] },
  ],
  constants: [
    { type: "enum AVMediaType", names: ["AVMEDIA_TYPE_*", "!AVMEDIA_TYPE_NB"] },
    {
      type: "int",
      names: [
        ...["AV_CODEC_FLAG_GLOBAL_HEADER", "AV_CODEC_CAP_*"],
        "AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX",
        ...["FF_THREAD_FRAME", "FF_THREAD_SLICE", "AV_PKT_FLAG_*", "AV_DICT_*", "AV_LOG_*"],
      ],
    },
  ],
  layoutsOnly: true,
  structs: [
    {
      type: "AVCodecContext",
      fields: [
        ...["codec_type", "codec", "codec_id", "opaque", "bit_rate", "flags", "flags2", "extradata", "extradata_size"],
        ...[["time_base_num", "time_base.num"], ["time_base_den", "time_base.den"]] as const,
        ...["width", "height", "coded_width", "coded_height", "gop_size", "pix_fmt", "get_format", "max_b_frames"],
        ...[["aspect_num", "sample_aspect_ratio.num"], ["aspect_den", "sample_aspect_ratio.den"]] as const,
        ...["color_primaries", "color_trc", "colorspace", "color_range", "chroma_sample_location"],
        ...["sample_rate", "sample_fmt", "frame_size", "get_buffer2", "strict_std_compliance", "err_recognition"],
        ...["hwaccel_context", "thread_count", "thread_type"],
        ...[["framerate_num", "framerate.num"], ["framerate_den", "framerate.den"]] as const,
        ...[["pkt_timebase_num", "pkt_timebase.num"], ["pkt_timebase_den", "pkt_timebase.den"]] as const,
        ...["hw_frames_ctx", "hw_device_ctx", "hwaccel_flags", "extra_hw_frames", "max_pixels"],
        ...[["ch_layout", "ch_layout.order"], ["channels", "ch_layout.nb_channels"]] as const,
      ],
    },
    {
      type: "AVCodecParameters",
      fields: [
        ...["codec_type", "codec_id", "codec_tag", "extradata", "extradata_size", "format", "bit_rate"],
        ...["profile", "level", "width", "height"],
        ...[["aspect_num", "sample_aspect_ratio.num"], ["aspect_den", "sample_aspect_ratio.den"]] as const,
        ...["field_order", "color_range", "color_primaries", "color_trc", "color_space", "chroma_location"],
        ...["video_delay", "sample_rate", "frame_size", ["channels", "ch_layout.nb_channels"] as const],
      ],
    },
    {
      type: "AVPacket",
      fields: [
        ...["buf", "pts", "dts", "data", "size", "stream_index", "flags", "duration", "pos"],
        ...[["time_base_num", "time_base.num"], ["time_base_den", "time_base.den"]] as const,
      ],
    },
    { type: "AVCodec", fields: ["name", "long_name", "type", "id", "capabilities"] },
    "AVCodecHWConfig",
    "AVDictionaryEntry",
    // Later releases have no such field: every get_buffer2 has to be safe there.
    { type: "struct AVCodecContext", as: "ThreadSafety", fields: ["thread_safe_callbacks"] },
    // There avcodec_get_supported_config() returns these lists.
    { type: "struct AVCodec", as: "SupportedFormats", fields: ["pix_fmts", "sample_fmts"] },
  ],
};
