import type { DType } from "../../core/layout/dtype.ts";
import { OpenCVBase } from "../base.ts";
import type { OperationOptions } from "../operate.ts";
import type { OpenCVTensor } from "../tensor.ts";
import {
  bitwiseNot,
  convertTo,
  type ConvertToOptions,
  copyTo,
  type CopyToOptions,
  flip,
  type FlipCode,
} from "./core_table.ts";

/**
 * The functions of the core module, as methods of {@link OpenCVContext}. Like all operations, they take Mats and UMats
 * alike. They throw an {@link AccessError} if a tensor is lent, an {@link ArgumentError} for anything but a Mat or UMat
 * of this context, a {@link LayoutError} if the function does not take the tensor or the result does not fit, and an
 * {@link OpenCVError} if OpenCV throws.
 */
export abstract class CoreOperations extends OpenCVBase {
  /**
   * Copies the elements of `src` to `dst` (`Mat::copyTo`, `UMat::copyTo`). A copy from a Mat to a UMat writes to OpenCL
   * memory. A copy from a UMat to a Mat reads from it, and waits.
   *
   * @param src any type and number of dimensions
   * @param dst of the same size and type; elements outside of the mask keep their values
   *
   * @example
   * ```ts
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * using image = cv.mat.create({ shape: [480, 640, 3], dtype: "u8" });
   * using copy = cv.mat.create({ shape: [480, 640, 3], dtype: "u8" });
   * using mask = cv.mat.create({ shape: [480, 640], dtype: "u8" });
   * cv.copyTo(image, copy);
   * cv.copyTo(image, copy, { mask });
   * ```
   */
  copyTo(src: OpenCVTensor, dst: OpenCVTensor, options: CopyToOptions = {}): void {
    copyTo(this, { src, dst }, options);
  }

  /**
   * Converts each value to another depth, scaled: `alpha * x + beta`, rounded to the nearest and clamped to the range of the
   * new depth (`Mat::convertTo`, `UMat::convertTo`). To integers, the result of a value that an int cannot hold is undefined.
   * In place if the depth stays the same.
   *
   * @param src any type and number of dimensions
   * @param dst of the same size, with as many channels
   * @param rtype the depth of `dst`; its channels are those of `src`
   *
   * @example
   * ```ts
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * using bytes = cv.mat.create({ shape: [480, 640, 3], dtype: "u8" });
   * using unit = cv.mat.create({ shape: [480, 640, 3], dtype: "f32" });
   * cv.convertTo(bytes, unit, "f32", { alpha: 1 / 255 }); // 0 to 255 becomes 0 to 1
   * ```
   */
  convertTo(src: OpenCVTensor, dst: OpenCVTensor, rtype: DType, options: ConvertToOptions = {}): void {
    convertTo(this, { src, dst }, options, rtype);
  }

  /**
   * Inverts every bit of every element, of floating-point numbers too (`cv::bitwise_not`). In place if `dst` is `src`.
   *
   * @param src any type and number of dimensions
   * @param dst of the same size and type
   *
   * @example
   * ```ts
   * import { host, MapperGraph } from "@samepage/interop";
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * using graph = new MapperGraph([host, cv]);
   * using image = host.allocate({ shape: [2, 2], dtype: "u8" });
   * {
   *   using mat = graph.map(image, cv.mat);
   *   cv.bitwise_not(mat, mat);
   * }
   * console.log(image.view()); // Uint8Array(4) [ 255, 255, 255, 255 ]
   * ```
   */
  bitwise_not(src: OpenCVTensor, dst: OpenCVTensor, options: OperationOptions = {}): void {
    bitwiseNot(this, { src, dst }, options);
  }

  /**
   * Flips an image (`cv::flip`). In place if `dst` is `src`, for Mats.
   *
   * @param src an image of any type
   * @param dst of the same size and type
   * @param flipCode `"x-axis"` (OpenCV's 0) makes the first row the last, `"y-axis"` (1) the first column the last, and
   * `"both-axes"` (-1) both
   *
   * @example
   * ```ts
   * import { OpenCVContext } from "@samepage/interop/opencv";
   *
   * using cv = OpenCVContext.open();
   * using image = cv.mat.create({ shape: [480, 640, 3], dtype: "u8" });
   * cv.flip(image, image, "x-axis");
   * ```
   */
  flip(src: OpenCVTensor, dst: OpenCVTensor, flipCode: FlipCode, options: OperationOptions = {}): void {
    flip(this, { src, dst }, options, flipCode);
  }
}
