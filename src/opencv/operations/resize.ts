import { type Names, optionsIn } from "../../core/argument.ts";
import type { OpenCVContext } from "../context.ts";
import { imgproc } from "../library.ts";
import { operate, type OperationOptions } from "../operate.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { imageIn, imageLike, unfit } from "./image.ts";
import { type Interpolation, RESIZES } from "./interpolation.ts";
import { packed, type Size, sizeIn } from "./size.ts";
import { named } from "./values.ts";

/** Options of `cv.resize`. */
export interface ResizeOptions extends OperationOptions {
  /** How pixels are made of others; `"linear"` by default, `"area"` is best to make an image smaller. */
  readonly interpolation?: Interpolation;
}

const OPTIONS: Names<ResizeOptions> = { interpolation: true, reallocate: true };

/** `cv::resize`. */
export function resize(
  cv: OpenCVContext,
  src: OpenCVTensor,
  dst: OpenCVTensor,
  dsize: Size,
  options: ResizeOptions,
): void {
  const { interpolation = "linear", reallocate } = optionsIn(options, OPTIONS);
  const size = sizeIn(dsize, "dsize");
  const { code, ...accepted } = named(RESIZES, interpolation, "interpolation");
  operate(cv, {
    fn: "resize",
    inputs: { src },
    dst,
    makes: () => {
      const image = imageIn(`resize by ${interpolation}`, "src", src, accepted);
      if (src === dst) throw unfit("resize", "dst", "OpenCV does not resize in place.");
      return imageLike(image, size[1], size[0]);
    },
    reallocate,
    call: () => imgproc().resize(src.slot.input, dst.slot.output, packed(size), 0, 0, code),
  });
}
