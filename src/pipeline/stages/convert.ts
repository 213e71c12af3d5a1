import { integer, type Rule } from "../../core/checks.ts";
import { sizeOf } from "../../core/layout/dtype.ts";
import { type FrameInfo, type ImageInfo, imageInfo, type PixelsInfo } from "../../core/layout/frame_info.ts";
import type { OpenCLContext, OpenCLTensor } from "../../opencl/mod.ts";
import { checks, Transform } from "../stage.ts";
import { contextIn } from "./given.ts";
import { colourOf, type ConvertedFormat, READ, Resampler, WRITTEN, type Written } from "./resample.ts";

/** What {@link convert} changes about pictures. What is left out stays as it is. */
export interface ConvertOptions {
  /** The format. */
  readonly format?: ConvertedFormat;
  /** Pixels across. */
  readonly width?: number;
  /** Pixels down. */
  readonly height?: number;
}

const PIXELS = integer(1, 2 ** 31 - 1);
const FORMAT: Rule = (checks, value, argument) => void checks.nameIn(value, WRITTEN, argument);

/**
 * Converts pictures to another format, another size or both, with an OpenCL kernel. A pixel of a smaller picture is the
 * mean of the pixels that it stands for. Colours follow `info.colour`; where that is unknown, luma is 16 to 235, by
 * BT.709 from 720 rows on, and by BT.601 below.
 *
 * It reads what it writes, and planar 4:2:2 and RGB by the names of FFmpeg and GStreamer; of those, name the format to write.
 *
 * @throws {ArgumentError} for what is no OpenCLContext, a format that it does not write, and no size of a picture.
 * @throws {DisposedError} if the context was disposed.
 */
export function convert(cl: OpenCLContext, options: ConvertOptions): Transform<OpenCLTensor> {
  contextIn(cl, "opencl", "cl");
  const { format, width, height } = checks.optionsIn(options, { format: FORMAT, width: PIXELS, height: PIXELS });
  const isSized = width !== undefined || height !== undefined;
  const pictures = new Resampler(cl, written);
  return new Transform<OpenCLTensor>({
    name: ["convert", format ?? [], isSized ? `${width ?? ""}×${height ?? ""}` : []].flat().join(" "),
    takes: { memory: cl, format: Object.keys(READ) },
    gives: (given) => outputOf(given as PixelsInfo, options),
    process: (input, { info, planes }) => {
      const { format, width, height } = info as ImageInfo;
      const to = { format, width, height, colour: colourOf(info as ImageInfo) };
      pictures.run(input, to, planes.map((plane) => [plane, plane.layout.strides[0] / sizeOf(plane.layout.dtype)]));
    },
    close: () => pictures.close(),
  });
}

function outputOf(
  input: PixelsInfo,
  { format = input.format as ConvertedFormat, width, height }: ConvertOptions,
): FrameInfo {
  const size = { width: width ?? input.width, height: height ?? input.height };
  return imageInfo({ format, ...size, ...WRITTEN[format]?.space === "yuv" && { colour: colourOf(input) } });
}

function written({ format, ...to }: Pick<Written, "width" | "height" | "colour"> & { format: string }): Written {
  const components = WRITTEN[format as ConvertedFormat];
  const hasAlpha = components.space === "rgb" && components.places[0][2] === 4;
  const { bits } = components;
  return {
    ...{ ...to, ...components, type: bits === undefined ? "uchar" : "ushort" },
    store: (at, value) => `${at} = ${bits === undefined ? `convert_uchar_sat_rte(${value})` : highest(bits, value)};`,
    ...hasAlpha && { also: (x, y) => `out0[${y} * outs0 + ${x} * 4 + 3] = 255;` },
  };
}

/** A value of a byte, with its fraction, in the highest bits of 16. */
function highest(bits: number, value: string): string {
  const unused = 16 - bits;
  return `(ushort)(min(convert_uint_sat_rte(${value} * ${2 ** (bits - 8)}.0f), ${2 ** bits - 1}u) << ${unused})`;
}
