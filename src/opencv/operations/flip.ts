import { optionsIn } from "../../core/argument.ts";
import type { OpenCVContext } from "../context.ts";
import { core } from "../library.ts";
import { operate, OPERATION_OPTIONS, type OperationOptions } from "../operate.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { OpenCVUMat } from "../umat.ts";
import { imageIn, unfit } from "./image.ts";
import { named } from "./values.ts";

/** Which axes an image is turned over around: around x rows change places, around y columns, around both both. */
export type FlipCode = "x-axis" | "y-axis" | "both-axes";

/** OpenCV has a number for each, and a sentence. */
const CODES: Readonly<Record<FlipCode, number>> = { "x-axis": 0, "y-axis": 1, "both-axes": -1 };

/** `cv::flip`. */
export function flip(
  cv: OpenCVContext,
  src: OpenCVTensor,
  dst: OpenCVTensor,
  flipCode: FlipCode,
  options: OperationOptions,
): void {
  const { reallocate } = optionsIn(options, OPERATION_OPTIONS);
  const code = named(CODES, flipCode, "flipCode");
  operate(cv, {
    fn: "flip",
    inputs: { src },
    dst,
    makes: () => {
      imageIn("flip", "src", src);
      // Two work-items of OpenCV's kernel exchange the same pixels of the row in the middle.
      if (src === dst && src instanceof OpenCVUMat) throw unfit("flip", "dst", "a UMat is not turned over in place.");
      return src.shape;
    },
    reallocate,
    call: () => core().flip(src.slot.input, dst.slot.output, code),
  });
}
