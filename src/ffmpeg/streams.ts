import type { Address } from "../../ffi/address.ts";
import { AVMEDIA_TYPE_AUDIO, AVMEDIA_TYPE_SUBTITLE, AVMEDIA_TYPE_VIDEO } from "../../ffi/avcodec59/constants.ts";
import { AV_TIME_BASE } from "../../ffi/avformat59/constants.ts";
import { AV_NOPTS_VALUE } from "../../ffi/avutil57/constants.ts";
import { viewAt } from "../core/native/pin.ts";
import type { DType } from "../core/layout/dtype.ts";
import type { MediaFacts } from "../core/layout/frame_info.ts";
import type { Ratio } from "../core/layout/ratio.ts";
import type { InMemory } from "../core/native/struct_type.ts";
import { textAt } from "../core/native/text.ts";
import { SAMPLES } from "./formats.ts";
import { known } from "../core/layout/facts.ts";
import { coding, struct } from "./library.ts";
import type { Structs } from "./versions.ts";

/** A file's description of one of its streams. What it does not say is left out. */
export interface StreamInfo {
  /** Its place among the streams. */
  readonly index: number;
  /** What it holds. */
  readonly type: "video" | "audio" | "subtitle" | "other";
  /** FFmpeg's name of the codec: `"h264"`. */
  readonly codec: string;
  /** Seconds. */
  readonly duration?: number;
  /** Seconds that a frame's `pts` counts. */
  readonly timeBase: Ratio;
  /** Bits a second. */
  readonly bitRate?: number;
  /** Pixels across. A frame may have another size, and says so. */
  readonly width?: number;
  /** Pixels down. */
  readonly height?: number;
  /** FFmpeg's name of the pixel format, or the type of a sample. */
  readonly format?: string | DType;
  /** Frames per second, on average. `frame.info.media` has it too if it is constant. */
  readonly frameRate?: Ratio;
  /** A pixel's width by its height. */
  readonly sampleAspect?: Ratio;
  /** Samples a second. */
  readonly sampleRate?: number;
  /** How many channels. */
  readonly channels?: number;
}

/** What a file says of itself. */
export interface MediaInfo {
  /** FFmpeg's names of the format of the file: `"mov,mp4,m4a,3gp,3g2,mj2"`. */
  readonly format: string;
  /** Seconds, if it is known. */
  readonly duration?: number;
  /** All of its streams. */
  readonly streams: readonly StreamInfo[];
  /** The stream that is decoded. */
  readonly stream: StreamInfo;
}

/** An FFmpeg stream, and what it says. */
export interface OpenStream {
  readonly address: Address;
  readonly info: StreamInfo;
  /** Facts about all of its frames that AVFrames do not have. */
  readonly facts: MediaFacts;
}

const TYPES = new Map<number, StreamInfo["type"]>([
  [AVMEDIA_TYPE_VIDEO, "video"],
  [AVMEDIA_TYPE_AUDIO, "audio"],
  [AVMEDIA_TYPE_SUBTITLE, "subtitle"],
]);

/** The streams of an AVFormatContext. */
export function streamsOf(context: Address): OpenStream[] {
  const { nb_streams, streams } = struct.at("AVFormatContext", context);
  const addresses = nb_streams === 0 ? undefined : viewAt(streams, 8 * nb_streams, "ffmpeg");
  return Array.from({ length: nb_streams }, (_, i) => {
    const address = addresses!.getBigUint64(8 * i, true) as Address;
    const stream = struct.at("AVStream", address);
    const info = infoOf(stream);
    return { address, info, facts: known({ frameRate: isSteady(stream) ? info.frameRate : undefined }) };
  });
}

function infoOf(stream: InMemory<Structs["AVStream"]>): StreamInfo {
  const { codec } = coding();
  const parameters = struct.at("AVCodecParameters", stream.codecpar);
  const { codec_type, codec_id, bit_rate, width, height, format, sample_rate, channels } = parameters;
  const type = TYPES.get(codec_type) ?? "other";
  const timeBase = [stream.time_base_num, stream.time_base_den] as const;
  const about = type === "video"
    ? {
      ...{ width, height, format: textAt(codec.av_get_pix_fmt_name(format)) },
      frameRate: ratio(stream.avg_frame_rate_num, stream.avg_frame_rate_den),
      sampleAspect: ratio(stream.aspect_num, stream.aspect_den),
    }
    : type === "audio"
    ? { format: SAMPLES.get(format)?.[0], sampleRate: sample_rate, channels }
    : {};
  const duration = Number(stream.duration) * timeBase[0] / timeBase[1];
  return Object.freeze({
    ...{ index: stream.index, type, codec: textAt(codec.avcodec_get_name(codec_id))!, timeBase },
    ...known({
      duration: stream.duration === AV_NOPTS_VALUE ? undefined : duration,
      bitRate: Number(bit_rate) || undefined,
    }),
    ...known(about),
  });
}

/** True if all frames are shown equally long, as far as FFmpeg has seen. */
function isSteady(stream: InMemory<Structs["AVStream"]>): boolean {
  const { avg_frame_rate_num, avg_frame_rate_den, r_frame_rate_num, r_frame_rate_den } = stream;
  return avg_frame_rate_num * r_frame_rate_den === r_frame_rate_num * avg_frame_rate_den;
}

function ratio(numerator: number, denominator: number): Ratio | undefined {
  return numerator === 0 || denominator === 0 ? undefined : Object.freeze([numerator, denominator] as const);
}

/** What a file says, of which one stream is decoded. */
export function mediaInfoOf(context: Address, streams: readonly OpenStream[], { info: stream }: OpenStream): MediaInfo {
  const { iformat, duration } = struct.at("AVFormatContext", context);
  return Object.freeze({
    format: textAt(struct.at("AVInputFormat", iformat).name)!,
    ...known({ duration: duration === AV_NOPTS_VALUE ? undefined : Number(duration) / AV_TIME_BASE }),
    streams: Object.freeze(streams.map(({ info }) => info)),
    stream,
  });
}
