import type { Library } from "../library.ts";
import { FOLDERS } from "./avutil57.ts";

/** FFmpeg's libavformat: files of sound and pictures, read and written. */
export const avformat59: Library = {
  name: "avformat59",
  interface: "AVFormats",
  headers: ["libavformat/avformat.h", "libavformat/avio.h", "libavcodec/avcodec.h", "libavutil/avutil.h"],
  folders: FOLDERS,
  defines: {},
  functions: [
    "avformat_version",
    ...["avcodec_configuration", "av_version_info"],
    "avformat_alloc_context",
    { name: "avformat_open_input", address: ["ps", "fmt", "options"], nonblocking: true },
    { name: "avformat_find_stream_info", address: ["ic"], nonblocking: true },
    { name: "av_find_best_stream", address: ["ic"] },
    { name: "av_read_frame", address: ["s", "pkt"], nonblocking: true },
    { name: "avformat_seek_file", address: ["s"], nonblocking: true },
    "avformat_close_input",
    { name: "avformat_alloc_output_context2", address: ["oformat"] },
    { name: "avformat_new_stream", address: ["s", "c"] },
    { name: "avformat_query_codec", address: ["ofmt"] },
    { name: "avformat_write_header", address: ["s", "options"], nonblocking: true },
    { name: "av_interleaved_write_frame", address: ["s", "pkt"], nonblocking: true },
    { name: "av_write_trailer", address: ["s"], nonblocking: true },
    { name: "avformat_free_context", address: ["s"] },
    { name: "avio_open2", address: ["s", "int_cb", "options"] },
    { name: "avio_close", address: ["s"] },
    { name: "avio_closep", nonblocking: true },
    "av_guess_format",
    { name: "av_guess_codec", address: ["fmt"] },
  ],
  constants: [
    {
      type: "int",
      names: [
        ...["AVFMT_NOFILE", "AVFMT_GLOBALHEADER", "AVFMT_FLAG_*", "AVSEEK_FLAG_*", "AVIO_FLAG_*"],
        ...["AV_DISPOSITION_ATTACHED_PIC", "AV_TIME_BASE"],
      ],
    },
    { type: "enum AVDiscard", names: ["AVDISCARD_*"] },
  ],
  layoutsOnly: true,
  structs: [
    {
      type: "AVFormatContext",
      fields: [
        ...["iformat", "oformat", "pb", "ctx_flags", "nb_streams", "streams", "url"],
        ...["start_time", "duration", "bit_rate", "flags", "probesize", "max_analyze_duration", "metadata"],
        ["interrupt_callback", "interrupt_callback.callback"],
        ["interrupt_opaque", "interrupt_callback.opaque"],
      ],
    },
    {
      type: "AVStream",
      fields: [
        ...["index", "id", "codecpar"],
        ...[["time_base_num", "time_base.num"], ["time_base_den", "time_base.den"]] as const,
        ...["start_time", "duration", "nb_frames", "disposition", "discard", "metadata"],
        ...[["aspect_num", "sample_aspect_ratio.num"], ["aspect_den", "sample_aspect_ratio.den"]] as const,
        ...[["avg_frame_rate_num", "avg_frame_rate.num"], ["avg_frame_rate_den", "avg_frame_rate.den"]] as const,
        ...[["r_frame_rate_num", "r_frame_rate.num"], ["r_frame_rate_den", "r_frame_rate.den"]] as const,
      ],
    },
    { type: "AVInputFormat", fields: ["name", "long_name", "flags"] },
    { type: "AVOutputFormat", fields: ["name", "long_name", "audio_codec", "video_codec", "flags"] },
  ],
};
