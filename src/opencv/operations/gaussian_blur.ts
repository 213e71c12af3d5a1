import { type Names, optionsIn } from "../../core/argument.ts";
import { wrong } from "../errors.ts";
import { imgproc } from "../library.ts";
import { operate, type OperationOptions } from "../operate.ts";
import type { OpenCVContext } from "../context.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { type Border, BORDERS, ISOLATED, named, number, packed, type Size, sizeIn } from "./values.ts";
import { imageIn, unfit } from "./image.ts";
import { MOST_INT, MOST_KERNEL } from "../limits.ts";

/** What lies beyond the edge of an image that is blurred: OpenCV cannot wrap it around. */
export type BlurBorder = Exclude<Border, "wrap">;

/** Options of `cv.GaussianBlur`. */
export interface GaussianBlurOptions extends OperationOptions {
  /** The standard deviation in x, in pixels; 0, the default, lets OpenCV take one that fits the size. */
  readonly sigmaX?: number;
  /** The same in y; that in x by default. */
  readonly sigmaY?: number;
  /** What lies beyond the edge. */
  readonly border?: BlurBorder;
}

const OPTIONS: Names<GaussianBlurOptions> = { sigmaX: true, sigmaY: true, border: true, reallocate: true };

/** OpenCV makes a kernel of eight times as many pixels of it, where it is to choose the size. */
const MOST_SIGMA = MOST_KERNEL / 8;

/** `cv::GaussianBlur`. */
export function gaussianBlur(
  cv: OpenCVContext,
  src: OpenCVTensor,
  dst: OpenCVTensor,
  ksize: Size,
  options: GaussianBlurOptions,
): void {
  const { sigmaX = 0, sigmaY = 0, border = "reflect-101", reallocate } = optionsIn(options, OPTIONS);
  const size = sizeIn(ksize, "ksize", 0, MOST_KERNEL);
  const x = number(sigmaX, "sigmaX", 0, MOST_SIGMA);
  const y = number(sigmaY, "sigmaY", 0, MOST_SIGMA);
  assertKernel(size, [x, y === 0 ? x : y]);
  const { wrap: _none, ...borders } = BORDERS;
  const type = named(borders, border, "border") | ISOLATED;
  operate(cv, {
    fn: "GaussianBlur",
    inputs: { src },
    dst,
    makes: () => {
      const accepted = { dtypes: ["u8", "u16", "i16", "f32", "f64"] } as const;
      const { columns, channels } = imageIn("GaussianBlur", "src", src, accepted);
      // It keeps as many rows as the kernel has, and counts their values with an int.
      const kept = size[1] || 8 * (y || x) + 1;
      if (columns * channels * kept > MOST_INT) {
        throw unfit(
          "GaussianBlur",
          "src",
          `${kept} rows of ${columns * channels} values are more than OpenCV can keep.`,
        );
      }
      return src.shape;
    },
    reallocate,
    call: () => imgproc().GaussianBlur(src.slot.input, dst.slot.output, packed(size), x, y, type),
  });
}

/** Both extents are odd, or there is something to take them from. @throws {ArgumentError} */
function assertKernel(size: Size, sigmas: readonly [number, number]): void {
  for (const [i, extent] of size.entries()) {
    if (extent % 2 === 1 || (extent === 0 && sigmas[i] > 0)) continue;
    const why = extent === 0 ? `, and there is no sigma${"XY"[i]} to take it from` : "";
    throw wrong(`ksize[${i}]`, `${extent} is not odd${why}.`);
  }
}
