import { object } from "../../core/argument.ts";
import { imgproc } from "../library.ts";
import { operate, type OperationOptions } from "../operate.ts";
import type { OpenCVContext } from "../context.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { type Border, BORDERS } from "./border.ts";
import { packed, type Size, sizeIn } from "./size.ts";
import { named, number, wrong } from "./values.ts";

/** Options of `cv.GaussianBlur`. */
export interface GaussianBlurOptions extends OperationOptions {
  /** The standard deviation in x, in pixels; 0, the default, lets OpenCV take one that fits the size. */
  readonly sigmaX?: number;
  /** The same in y; that in x by default. */
  readonly sigmaY?: number;
  /** What lies beyond the edge. */
  readonly border?: Border;
}

/** `cv::GaussianBlur`. */
export function gaussianBlur(
  cv: OpenCVContext,
  src: OpenCVTensor,
  dst: OpenCVTensor,
  ksize: Size,
  options: GaussianBlurOptions,
): void {
  const { sigmaX = 0, sigmaY = 0, border = "reflect-101", reallocate } = object(options, "options");
  const size = sizeIn(ksize, "ksize", 0);
  const sigmas = [number(sigmaX, "sigmaX", 0), number(sigmaY, "sigmaY", 0)] as const;
  for (const [i, extent] of size.entries()) {
    if (extent % 2 === 1 || (extent === 0 && sigmas[0] > 0)) continue;
    throw wrong(
      `ksize[${i}]`,
      `${extent} is not odd${extent === 0 ? ", and there is no sigmaX to take it from" : ""}.`,
    );
  }
  const type = named(BORDERS, border, "border");
  operate(cv, {
    fn: "GaussianBlur",
    inputs: { src },
    dst,
    makes: () => src.shape,
    reallocate,
    call: () => imgproc().GaussianBlur(src.slot.input, dst.slot.output, packed(size), ...sigmas, type),
  });
}
