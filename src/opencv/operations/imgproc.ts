import type { OperationOptions } from "../operate.ts";
import type { OpenCVTensor } from "../tensor.ts";
import type { ColorCode } from "./color_codes.ts";
import { CoreOperations } from "./core.ts";
import { cvtColor } from "./cvt_color.ts";
import {
  canny,
  type CannyOptions,
  gaussianBlur,
  type GaussianBlurOptions,
  threshold,
  type ThresholdOptions,
  type ThresholdType,
} from "./filters.ts";
import { resize, type ResizeOptions, warpAffine, type WarpAffineOptions } from "./geometry.ts";
import type { AffineMatrix, Size } from "./values.ts";

/**
 * The functions of the imgproc module, as methods of {@link OpenCVContext}. They take images: Mats and UMats of two
 * dimensions, `[rows, columns]` or `[rows, columns, channels]`. Only {@link cvtColor} knows what a channel means;
 * OpenCV's own order is blue, green, red. They throw like those of {@link CoreOperations}.
 */
export abstract class ImgprocOperations extends CoreOperations {
  /**
   * Converts an image to another colour space (`cv::cvtColor`). The code names the channels in the order of the bytes:
   * `"BGR2GRAY"` takes blue for the first channel. In place if the result has the same size and type.
   *
   * 8-bit channels are 0 to 255, 16-bit ones 0 to 65535, f32 0 to 1. In HSV and HLS of 8 bits hue is 0 to 179 (half
   * degrees; with `_FULL` 0 to 255), of f32 0 to 360; in Lab of 8 bits L is scaled to 0 to 255, and a and b lie around 128.
   *
   * The planes of YUV420 (NV12, NV21, I420, YV12) are one Mat of one channel, `[height * 3 / 2, width]`, without a gap between
   * them: `height` rows of Y, and below them half as many rows of colour. In NV12 each of these has `width / 2` pairs of U and
   * V, in NV21 of V and U; in I420 the plane of U comes first and then that of V, two rows of either side by side in a row of
   * the Mat; in YV12 V comes first. UYVY, YUYV and YVYU are images of two channels, with an even number of columns.
   *
   * @param src three or four channels for BGR, RGB, BGRA and RGBA alike, one for GRAY, YUV420 and Bayer, two for BGR565,
   * BGR555 and YUV422, three for the other spaces. u8; u16 and f32 too for BGR, GRAY, XYZ, YCrCb and YUV; f32 to HSV and
   * HLS, and for Lab and Luv both ways; u16 for Bayer
   * @param dst of the same depth, with as many channels as the code says; a Mat for BGR2HSV, and for Lab and Luv both ways:
   * OpenCV 4.6 keeps their tables in the first OpenCL context that wants them
   *
   * @example
   * ```ts
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * using frame = cv.mat.create({ shape: [480 * 3 / 2, 640], dtype: "u8" });
   * using image = cv.mat.create({ shape: [480, 640, 3], dtype: "u8" });
   * using grey = cv.mat.create({ shape: [480, 640], dtype: "u8" });
   * cv.cvtColor(frame, image, "YUV2BGR_NV12");
   * cv.cvtColor(image, grey, "BGR2GRAY");
   * ```
   */
  cvtColor(src: OpenCVTensor, dst: OpenCVTensor, code: ColorCode, options: OperationOptions = {}): void {
    cvtColor(this, { src, dst }, options, code);
  }

  /**
   * Blurs an image (`cv::GaussianBlur`), in place if `dst` is `src`; but not in place on Intel's GPUs for one channel of u8 and
   * a kernel of 3×3 or 5×5, where OpenCV 4.6 reads pixels that it has overwritten.
   *
   * `border` determines the pixels beyond the edge, even if the Mat or UMat is a part of a larger one (BORDER_ISOLATED).
   *
   * @param src u8, u16, i16, f32 or f64, any number of channels
   * @param dst of the same size and type
   * @param ksize width and height of the kernel in pixels, both odd and below 32768, or 0 to take them from the sigmas
   *
   * @example
   * ```ts
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * using image = cv.mat.create({ shape: [480, 640, 3], dtype: "u8" });
   * cv.GaussianBlur(image, image, [5, 5], { sigmaX: 1.5 });
   * ```
   */
  GaussianBlur(src: OpenCVTensor, dst: OpenCVTensor, ksize: Size, options: GaussianBlurOptions = {}): void {
    gaussianBlur(this, { src, dst }, options, ksize);
  }

  /**
   * Finds edges (`cv::Canny`): 255 on an edge, 0 elsewhere. In place if `dst` is `src`, for one channel.
   *
   * @param src u8, any number of channels, of which the one with the steepest gradient counts
   * @param dst u8, one channel, of the same size
   * @param threshold1 a threshold of the gradient, 0 to 2^31 - 1: above the lower of both, a pixel is an edge if it touches one
   * @param threshold2 the other threshold: above the higher of both, a pixel is an edge by itself
   *
   * @example
   * ```ts
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * using grey = cv.mat.create({ shape: [480, 640], dtype: "u8" });
   * using edges = cv.mat.create({ shape: [480, 640], dtype: "u8" });
   * cv.Canny(grey, edges, 50, 150);
   * ```
   */
  Canny(
    src: OpenCVTensor,
    dst: OpenCVTensor,
    threshold1: number,
    threshold2: number,
    options: CannyOptions = {},
  ): void {
    canny(this, { src, dst }, options, threshold1, threshold2);
  }

  /**
   * Resizes an image (`cv::resize`). Not in place.
   *
   * @param src u8, u16, i16, f32 or f64, any number of channels; `"nearest"` and `"nearest-exact"` take any type, `"area"`
   * four channels at most
   * @param dst of the same type: `[height, width]`, or `[height, width, channels]`
   * @param dsize `[width, height]` of `dst` in pixels, in the order of `cv::Size`: the reverse of a tensor's shape
   *
   * @example
   * ```ts
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * using image = cv.mat.create({ shape: [480, 640, 3], dtype: "u8" });
   * using small = cv.mat.create({ shape: [120, 160, 3], dtype: "u8" });
   * cv.resize(image, small, [160, 120], { interpolation: "area" });
   * ```
   */
  resize(src: OpenCVTensor, dst: OpenCVTensor, dsize: Size, options: ResizeOptions = {}): void {
    resize(this, { src, dst }, options, dsize);
  }

  /**
   * Moves, rotates, scales and shears an image (`cv::warpAffine`): the pixel (x, y) of `src` goes to
   * (ax + by + c, dx + ey + f) of `dst`. Not in place.
   *
   * @param src at most 32766 pixels a side; u8, u16, i16, f32 or f64, with `"nearest"` i8 and i32 too; any number of
   * channels, with `"cubic"` and `"lanczos4"` four at most
   * @param dst of the same type: `[height, width]`, or `[height, width, channels]`
   * @param M `[[a, b, c], [d, e, f]]`, or the six numbers
   * @param dsize `[width, height]` of `dst`, the reverse of a tensor's shape; at most 32766 pixels a side
   *
   * @example
   * ```ts
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * using image = cv.mat.create({ shape: [480, 640, 3], dtype: "u8" });
   * using upright = cv.mat.create({ shape: [640, 480, 3], dtype: "u8" });
   * cv.warpAffine(image, upright, [[0, -1, 479], [1, 0, 0]], [480, 640]); // a quarter turn clockwise
   * ```
   */
  warpAffine(
    src: OpenCVTensor,
    dst: OpenCVTensor,
    M: AffineMatrix,
    dsize: Size,
    options: WarpAffineOptions = {},
  ): void {
    warpAffine(this, { src, dst }, options, M, dsize);
  }

  /**
   * Compares every value with a threshold (`cv::threshold`), in place if `dst` is `src`. For a value x above the threshold
   * `"binary"` writes `maxval`, `"binary-inv"` 0, `"trunc"` the threshold, `"tozero"` x, and `"tozero-inv"` 0; for any other
   * value, in the same order, 0, `maxval`, x, 0 and x.
   *
   * @param src u8, u16, i16, f32 or f64, any number of channels; one of u8 or u16 for `"otsu"`, of u8 for `"triangle"`
   * @param dst of the same size and type
   * @param thresh the threshold, rounded down for integers
   * @param maxval rounded, and clamped to the range of the depth
   * @returns the threshold that was used; with `search`, the one that OpenCV found
   *
   * @example
   * ```ts
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * using grey = cv.mat.create({ shape: [480, 640], dtype: "u8" });
   * const used = cv.threshold(grey, grey, 0, 255, "binary", { search: "otsu" });
   * console.log(used);
   * ```
   */
  threshold(
    src: OpenCVTensor,
    dst: OpenCVTensor,
    thresh: number,
    maxval: number,
    type: ThresholdType,
    options: ThresholdOptions = {},
  ): number {
    return threshold(this, { src, dst }, options, thresh, maxval, type);
  }
}
