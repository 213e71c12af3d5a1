import { type Names, optionsIn } from "../../core/argument.ts";
import type { OpenCVContext } from "../context.ts";
import { imgproc } from "../library.ts";
import { operate, type OperationOptions } from "../operate.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { imageIn, imageLike, unfit } from "./image.ts";
import { MOST_INT } from "../limits.ts";
import { flag, number, oneOf } from "./values.ts";

/** Options of `cv.Canny`. */
export interface CannyOptions extends OperationOptions {
  /** The size of the Sobel kernels; 3 by default. */
  readonly apertureSize?: 3 | 5 | 7;
  /** True: a gradient's length is √(dx² + dy²). False, the default: |dx| + |dy|. */
  readonly L2gradient?: boolean;
}

const OPTIONS: Names<CannyOptions> = { apertureSize: true, L2gradient: true, reallocate: true };

/** `cv::Canny`. */
export function canny(
  cv: OpenCVContext,
  src: OpenCVTensor,
  dst: OpenCVTensor,
  threshold1: number,
  threshold2: number,
  options: CannyOptions,
): void {
  const { apertureSize = 3, L2gradient = false, reallocate } = optionsIn(options, OPTIONS);
  const thresholds = [
    number(threshold1, "threshold1", 0, MOST_INT),
    number(threshold2, "threshold2", 0, MOST_INT),
  ] as const;
  const aperture = oneOf([3, 5, 7], apertureSize, "apertureSize");
  const isL2 = Number(flag(L2gradient, "L2gradient"));
  operate(cv, {
    fn: "Canny",
    inputs: { src },
    dst,
    makes: () => {
      const image = imageIn("Canny", "src", src, { dtypes: ["u8"] });
      if (src === dst && image.channels > 1) throw unfit("Canny", "dst", "only one channel can be worked on in place.");
      return imageLike(image, image.rows, image.columns, 1);
    },
    reallocate,
    call: () => imgproc().Canny(src.slot.input, dst.slot.output, ...thresholds, aperture, isL2),
  });
}
