import { NULL } from "../../ffi/address.ts";
import * as av from "../../ffi/avutil57/constants.ts";
import { type PixelComponent, planesOfComponents } from "../core/layout/components.ts";
import type { DType } from "../core/layout/dtype.ts";
import { cString, textAt } from "../core/native/text.ts";
import { PixelFormats, type PixelsFormat } from "../media/formats.ts";
import { avutil, checks, struct } from "./library.ts";

/** The pixel formats that FFmpeg's own descriptors say. */
export const formats = new PixelFormats({
  library: "FFmpeg",
  checks,
  names: [
    ...[["gray", "GRAY8"], ["rgb24", "RGB"], ["bgr24", "BGR"]] as const,
    ...[["rgba", "RGBA"], ["bgra", "BGRA"], ["rgb0", "RGBX"], ["bgr0", "BGRX"]] as const,
    ...[["nv12", "NV12"], ["yuv420p", "I420"], ["yuvj420p", "I420"], ["yuv444p", "YUV444"]] as const,
    ...[["yuvj444p", "YUV444"], ["p010le", "P010"], ["p012le", "P012"], ["p016le", "P016"]] as const,
    ...[["yuyv422", "YUY2"], ["uyvy422", "UYVY"]] as const,
  ],
  numberOf(name) {
    const number = avutil().fns.av_get_pix_fmt(cString(name));
    return number < 0 ? undefined : number;
  },
  describe,
});

/** Formats whose name implies that luma uses 0–255, whatever the frame says. */
export const FULL_RANGE = /^yuvj/;

/** FFmpeg's numbers of colour ranges. */
export const RANGES = { limited: av.AVCOL_RANGE_MPEG, full: av.AVCOL_RANGE_JPEG } as const;

/** Formats whose pixels cannot be elements in memory, and the remedy for each. */
const REFUSED: readonly (readonly [flag: bigint, what: string, remedy: string])[] = [
  [av.AV_PIX_FMT_FLAG_HWACCEL, "its pixels are a device's", "Download it: av_hwframe_transfer_data()."],
  [av.AV_PIX_FMT_FLAG_PAL, "its bytes stand for colours of a palette", "Convert it to rgba: sws_scale()."],
  [av.AV_PIX_FMT_FLAG_BITSTREAM, "its pixels are parts of bytes", "Convert it to gray or rgb24: sws_scale()."],
  [av.AV_PIX_FMT_FLAG_BE, "its numbers are big-endian", "Convert it to the little-endian format: sws_scale()."],
];

/** @throws {ArgumentError} for hardware formats, palettes, pixels of less than a byte, and big-endian numbers. */
function describe(format: number, argument: string): PixelsFormat {
  const address = avutil().fns.av_pix_fmt_desc_get(format);
  if (address === NULL) throw checks.wrong(argument, `FFmpeg has no pixel format ${format}.`);
  const { name: text, nb_components, log2_chroma_w, log2_chroma_h, flags } = struct.at("AVPixFmtDescriptor", address);
  const name = textAt(text)!;
  for (const [flag, what, remedy] of REFUSED) {
    if ((flags & flag) !== 0n) throw checks.wrong(argument, `its format is ${name}: ${what}.`, remedy);
  }
  const places = struct.within("AVComponentDescriptor", nb_components, ["AVPixFmtDescriptor", address, "comp"]);
  const components = places.map(({ plane, step, offset, shift, depth }, i): PixelComponent => {
    const [across, down] = i === 1 || i === 2 ? [1 << log2_chroma_w, 1 << log2_chroma_h] : [1, 1];
    return { plane, step, offset, bits: shift + depth, across, down };
  });
  return { name, planes: planesOfComponents(components, (flags & av.AV_PIX_FMT_FLAG_FLOAT) !== 0n) };
}

/** The types of samples, by FFmpeg's names. */
const SAMPLE_TYPES = { U8: "u8", S16: "i16", S32: "i32", S64: "i64", FLT: "f32", DBL: "f64" } as const;

type Sample = readonly [dtype: DType, layout: "interleaved" | "planar"];

/** The sample formats: the type of a sample, and whether each channel has a plane. */
export const SAMPLES: ReadonlyMap<number, Sample> = new Map<number, Sample>(
  (Object.keys(SAMPLE_TYPES) as (keyof typeof SAMPLE_TYPES)[]).flatMap((name) => [
    [av[`AV_SAMPLE_FMT_${name}`], [SAMPLE_TYPES[name], "interleaved"]] as const,
    [av[`AV_SAMPLE_FMT_${name}P`], [SAMPLE_TYPES[name], "planar"]] as const,
  ]),
);
