import {
  THRESH_BINARY,
  THRESH_BINARY_INV,
  THRESH_OTSU,
  THRESH_TOZERO,
  THRESH_TOZERO_INV,
  THRESH_TRIANGLE,
  THRESH_TRUNC,
} from "../../../ffi/opencv_imgproc/constants.ts";
import { type Names, optionsIn } from "../../core/argument.ts";
import type { OpenCVContext } from "../context.ts";
import { imgproc } from "../library.ts";
import { operate, type OperationOptions } from "../operate.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { type Accepted, imageIn } from "./image.ts";
import { MOST_INT } from "../limits.ts";
import { named, number } from "./values.ts";

/** What becomes of a value x. */
export type ThresholdType = "binary" | "binary-inv" | "trunc" | "tozero" | "tozero-inv";

/** OpenCV's numbers of them (ThresholdTypes). */
const TYPES: Readonly<Record<ThresholdType, number>> = {
  "binary": THRESH_BINARY,
  "binary-inv": THRESH_BINARY_INV,
  "trunc": THRESH_TRUNC,
  "tozero": THRESH_TOZERO,
  "tozero-inv": THRESH_TOZERO_INV,
};

/** How OpenCV finds a threshold by itself. */
export type ThresholdSearch = "otsu" | "triangle";

/** OpenCV's number of a search, and what it works on. */
interface Search extends Accepted {
  readonly code: number;
}

/** All of them. */
const SEARCHES: Readonly<Record<ThresholdSearch, Search>> = {
  "otsu": { code: THRESH_OTSU, dtypes: ["u8", "u16"], channels: [1] },
  "triangle": { code: THRESH_TRIANGLE, dtypes: ["u8"], channels: [1] },
};

/** Without a search. */
const GIVEN: Search = { code: 0, dtypes: ["u8", "u16", "i16", "f32", "f64"] };

/** Options of `cv.threshold`. */
export interface ThresholdOptions extends OperationOptions {
  /** Lets OpenCV find the threshold in the image's histogram; `thresh` does not count then. */
  readonly search?: ThresholdSearch;
}

const OPTIONS: Names<ThresholdOptions> = { search: true, reallocate: true };

/** `cv::threshold`: answers the threshold that was used. */
export function threshold(
  cv: OpenCVContext,
  src: OpenCVTensor,
  dst: OpenCVTensor,
  thresh: number,
  maxval: number,
  type: ThresholdType,
  options: ThresholdOptions,
): number {
  const { search, reallocate } = optionsIn(options, OPTIONS);
  const { code, ...accepted } = search === undefined ? GIVEN : named(SEARCHES, search, "search");
  const values = [number(thresh, "thresh"), number(maxval, "maxval")] as const;
  const flags = named(TYPES, type, "type") | code;
  return operate(cv, {
    fn: "threshold",
    inputs: { src },
    dst,
    makes: () => {
      const { dtype } = imageIn(search === undefined ? "threshold" : `threshold by ${search}`, "src", src, accepted);
      const isFloat = dtype === "f32" || dtype === "f64";
      // OpenCV makes ints of both.
      if (!isFloat) values.forEach((value, i) => number(value, i === 0 ? "thresh" : "maxval", -MOST_INT, MOST_INT));
      return src.shape;
    },
    reallocate,
    call: () => imgproc().threshold(src.slot.input, dst.slot.output, ...values, flags),
  });
}
