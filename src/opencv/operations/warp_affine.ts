import { CV_64F } from "../../../ffi/opencv_core/constants.ts";
import { WARP_INVERSE_MAP } from "../../../ffi/opencv_imgproc/constants.ts";
import { type Names, optionsIn } from "../../core/argument.ts";
import type { OpenCVContext } from "../context.ts";
import { imgproc } from "../library.ts";
import { operate, type OperationOptions } from "../operate.ts";
import type { OpenCVTensor } from "../tensor.ts";
import {
  type AffineMatrix,
  type Border,
  BORDERS,
  flag,
  matrixIn,
  named,
  packed,
  type Scalar,
  scalarIn,
  type Size,
  sizeIn,
} from "./values.ts";
import { imageIn, imageLike, unfit } from "./image.ts";
import { type WarpInterpolation, WARPS } from "./interpolation.ts";
import { MOST_WARPED } from "../limits.ts";
import { withMat } from "./temporary.ts";

/** Options of `cv.warpAffine`. */
export interface WarpAffineOptions extends OperationOptions {
  /** How pixels are made of others; `"linear"` by default. */
  readonly interpolation?: WarpInterpolation;
  /** True: the matrix says where each pixel of the result comes from (WARP_INVERSE_MAP), and not where those go to. */
  readonly inverse?: boolean;
  /** What lies beyond the edge; here OpenCV's default is `"constant"`. */
  readonly border?: Border;
  /** What a pixel is there, with `"constant"`; 0 by default. */
  readonly borderValue?: Scalar;
}

const OPTIONS: Names<WarpAffineOptions> = {
  interpolation: true,
  inverse: true,
  border: true,
  borderValue: true,
  reallocate: true,
};

/** `cv::warpAffine`. */
export function warpAffine(
  cv: OpenCVContext,
  src: OpenCVTensor,
  dst: OpenCVTensor,
  M: AffineMatrix,
  dsize: Size,
  options: WarpAffineOptions,
): void {
  const { interpolation = "linear", inverse = false, border = "constant", borderValue = 0, reallocate } = optionsIn(
    options,
    OPTIONS,
  );
  const matrix = matrixIn(M, "M");
  const size = sizeIn(dsize, "dsize", 1, MOST_WARPED);
  const { code, ...accepted } = named(WARPS, interpolation, "interpolation");
  const flags = code | (flag(inverse, "inverse") ? WARP_INVERSE_MAP : 0);
  const mode = named(BORDERS, border, "border");
  const value = scalarIn(borderValue, "borderValue");
  operate(cv, {
    fn: "warpAffine",
    inputs: { src },
    dst,
    makes: () => {
      const image = imageIn(`warpAffine by ${interpolation}`, "src", src, accepted);
      const { rows, columns } = image;
      if (Math.max(rows, columns) > MOST_WARPED) {
        throw unfit("warpAffine", "src", `${columns}×${rows} pixels are more than ${MOST_WARPED} a side.`);
      }
      if (src === dst) throw unfit("warpAffine", "dst", "OpenCV does not warp in place.");
      return imageLike(image, size[1], size[0]);
    },
    reallocate,
    call: () =>
      withMat(
        matrix,
        { type: CV_64F, sizes: [2, 3] },
        (m) => imgproc().warpAffine(src.slot.input, dst.slot.output, m, packed(size), flags, mode, value),
      ),
  });
}
