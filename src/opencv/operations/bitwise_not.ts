import { object } from "../../core/argument.ts";
import type { OpenCVContext } from "../context.ts";
import { core } from "../library.ts";
import { operate, type OperationOptions } from "../operate.ts";
import { noArray } from "../slots.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { assertMask } from "./copy_to.ts";

/** Options of `cv.bitwise_not`. */
export interface BitwiseOptions extends OperationOptions {
  /** Which elements are written: those where it is not 0. CV_8U, of the same size, with one channel. */
  readonly mask?: OpenCVTensor;
}

/** `cv::bitwise_not`. */
export function bitwiseNot(cv: OpenCVContext, src: OpenCVTensor, dst: OpenCVTensor, options: BitwiseOptions): void {
  const { mask, reallocate } = object(options, "options");
  operate(cv, {
    fn: "bitwise_not",
    inputs: mask === undefined ? { src } : { src, mask },
    dst,
    makes: () => {
      if (mask !== undefined) assertMask("bitwise_not", mask, src, [1]);
      return src.shape;
    },
    reallocate,
    anyRank: true,
    call: () => core().bitwise_not(src.slot.input, dst.slot.output, mask?.slot.input ?? noArray()),
  });
}
