/**
 * Which codecs this FFmpeg has, and what they take.
 *
 * @module
 */
import { type Address, NULL } from "../../ffi/address.ts";
import {
  AV_CODEC_CAP_HARDWARE,
  AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX,
  AVMEDIA_TYPE_AUDIO,
  AVMEDIA_TYPE_VIDEO,
} from "../../ffi/avcodec59/constants.ts";
import { shown } from "../core/argument.ts";
import { viewAt } from "../core/native/pin.ts";
import type { InMemory } from "../core/native/struct_type.ts";
import { cString, textAt } from "../core/native/text.ts";
import { avutil, checks, coding, struct } from "./library.ts";
import type { Structs } from "./versions.ts";

/** What a stream is of. */
export type Medium = "video" | "audio";

/** FFmpeg's numbers of those. */
export const MEDIA_TYPES = { video: AVMEDIA_TYPE_VIDEO, audio: AVMEDIA_TYPE_AUDIO };

/** All decoders and encoders of this FFmpeg. */
function* codecs(): Generator<InMemory<Structs["AVCodec"]>> {
  const place = new BigUint64Array(1);
  for (;;) {
    const address = coding().codec.av_codec_iterate(place);
    if (address === NULL) return;
    yield struct.at("AVCodec", address);
  }
}

/**
 * Returns FFmpeg's first decoder of a codec that works on a device of an API, once it has one; NULL if no decoder does. For
 * AV1 that is not the decoder which FFmpeg takes by itself. Decoders that work on a device only, such as h264_cuvid, are left out:
 * they end where it does not take a stream.
 */
export function decoderOn(api: number, codecId: number): Address {
  const found = codecs().find(({ address, id, capabilities }) => {
    const isDecoder = id === codecId && coding().codec.av_codec_is_decoder(address) !== 0;
    return isDecoder && (capabilities & AV_CODEC_CAP_HARDWARE) === 0 && worksOn(address, api);
  });
  return found?.address ?? NULL;
}

function worksOn(decoder: Address, api: number): boolean {
  for (let i = 0;; i++) {
    const config = coding().codec.avcodec_get_hw_config(decoder, i);
    if (config === NULL) return false;
    const { methods, device_type } = struct.at("AVCodecHWConfig", config);
    if (device_type === api && (methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX) !== 0) return true;
  }
}

/** @throws {ArgumentError} if this FFmpeg has none of that name. */
export function encoderNamed(name: string): Address {
  const { codec } = coding();
  const encoder = codec.avcodec_find_encoder_by_name(cString(name));
  if (encoder !== NULL) return encoder;
  const known = [...codecs()].filter(({ address, id }) => {
    return codec.av_codec_is_decoder(address) === 0 && textAt(codec.avcodec_get_name(id)) === name;
  });
  const hint = known.length === 0
    ? "`ffmpeg -encoders` lists those there are."
    : `What encodes ${name} here: ${known.map((encoder) => textAt(encoder.name)).join(", ")}.`;
  throw checks.wrong("codec", `this FFmpeg has no encoder ${shown(name)}.`, hint, "avcodec_find_encoder_by_name");
}

/** The default encoder of a file format. */
export function encoderOf(format: Address, path: string, medium: Medium): Address {
  const { codec, format: { av_guess_codec } } = coding();
  const id = av_guess_codec(format, null, cString(path), null, MEDIA_TYPES[medium]);
  const encoder = codec.avcodec_find_encoder(id);
  if (encoder !== NULL) return encoder;
  const why = `FFmpeg has no encoder of ${medium} that goes by itself with files like ${shown(path)}.`;
  throw checks.wrong("codec", why, 'Name one: { codec: "ffv1" }.', "avcodec_find_encoder");
}

/** The format that a file's name stands for. */
export function formatOf(path: string): Address {
  const format = coding().format.av_guess_format(null, cString(path), null);
  if (format !== NULL) return format;
  throw checks.wrong("path", `FFmpeg has no format for files like ${shown(path)}.`, ENDING, "av_guess_format");
}

const ENDING = "The end of the name says the format: .mkv, .mp4, .png.";
const OTHER_MEDIUM = "Name an encoder of what you write; sound beside pictures is a stream of its own: { audio: {} }.";
const OTHER_CODEC = "Name another codec, or a file that ends in .mkv: it can have most codecs.";

/** Throws if an encoder does not take such frames, or the file format does not take its output. */
export function assertTakes(encoder: Address, medium: Medium, format: number, file: Address): void {
  const { codec, format: { avformat_query_codec } } = coding();
  const { name: text, type, id } = struct.at("AVCodec", encoder);
  const name = textAt(text)!;
  if (type !== MEDIA_TYPES[medium]) throw checks.wrong("codec", `${name} encodes no ${medium}.`, OTHER_MEDIUM);
  if (avformat_query_codec(file, id, 0) === 0) {
    throw checks.wrong("codec", `files of that name cannot have ${textAt(codec.avcodec_get_name(id))}.`, OTHER_CODEC);
  }
  // In versions that have these lists elsewhere, avcodec_open2 refuses the frame.
  if (avutil().structs.SupportedFormats === undefined) return;
  const { pix_fmts, sample_fmts } = struct.at("SupportedFormats", encoder);
  const [list, nameOf] = medium === "video"
    ? [pix_fmts, codec.av_get_pix_fmt_name] as const
    : [sample_fmts, codec.av_get_sample_fmt_name] as const;
  const taken = list === NULL ? [format] : [...numbersAt(list)];
  if (taken.includes(format)) return;
  const names = taken.map((number) => textAt(nameOf(number)));
  const hint = "Convert the frame; FFmpeg's libswscale and libswresample do.";
  throw checks.wrong("frame", `${name} takes ${names.join(", ")}, and not ${textAt(nameOf(format))}.`, hint);
}

/** A list of C's that ends with -1. */
function* numbersAt(list: Address): Generator<number> {
  for (let i = 0;; i++) {
    const number = viewAt(list + BigInt(4 * i) as Address, 4, "ffmpeg").getInt32(0, true);
    if (number === -1) return;
    yield number;
  }
}
