import { optionsIn } from "../../core/argument.ts";
import type { OpenCVContext } from "../context.ts";
import { core } from "../library.ts";
import { operate, OPERATION_OPTIONS, type OperationOptions } from "../operate.ts";
import { noArray } from "../slots.ts";
import type { OpenCVTensor } from "../tensor.ts";

/** `cv::bitwise_not`, without a mask: OpenCV 4.6 takes an image of one column with a mask for a scalar, and throws. */
export function bitwiseNot(cv: OpenCVContext, src: OpenCVTensor, dst: OpenCVTensor, options: OperationOptions): void {
  const { reallocate } = optionsIn(options, OPERATION_OPTIONS);
  operate(cv, {
    fn: "bitwise_not",
    inputs: { src },
    dst,
    makes: () => src.shape,
    reallocate,
    anyRank: true,
    call: () => core().bitwise_not(src.slot.input, dst.slot.output, noArray()),
  });
}
