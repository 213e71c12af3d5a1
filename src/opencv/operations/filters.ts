import {
  THRESH_BINARY,
  THRESH_BINARY_INV,
  THRESH_OTSU,
  THRESH_TOZERO,
  THRESH_TOZERO_INV,
  THRESH_TRIANGLE,
  THRESH_TRUNC,
} from "../../../ffi/opencv_imgproc/constants.ts";
import { wrong } from "../errors.ts";
import { imgproc } from "../library.ts";
import { operation, type OperationOptions } from "../operate.ts";
import { MAX_INT } from "../type.ts";
import { type Accepted, imageIn, imageLike, unfit } from "./image.ts";
import { type Border, BORDERS, flag, ISOLATED, named, number, oneOf, packed, type Size, sizeIn } from "./values.ts";

/** The pixels beyond the edge of a blurred image. OpenCV cannot wrap it around. */
export type BlurBorder = Exclude<Border, "wrap">;

/** Options of `cv.GaussianBlur`. */
export interface GaussianBlurOptions extends OperationOptions {
  /** The standard deviation in x, in pixels; 0, the default, lets OpenCV derive it from the size. */
  readonly sigmaX?: number;
  /** The standard deviation in y, in pixels; `sigmaX` by default. */
  readonly sigmaY?: number;
  /** The pixels beyond the edge. */
  readonly border?: BlurBorder;
}

/** A larger kernel is useless, and OpenCV allocates a table of its length. */
const MAX_KERNEL = 2 ** 15 - 1;

/** If OpenCV chooses the size of the kernel, it takes eight sigmas. */
const MAX_SIGMA = MAX_KERNEL / 8;

const { wrap: _none, ...BLUR_BORDERS } = BORDERS;

export const gaussianBlur = operation({
  fn: "GaussianBlur",
  options: { sigmaX: true, sigmaY: true, border: true },
  read({ sigmaX = 0, sigmaY = 0, border = "reflect-101" }: GaussianBlurOptions, ksize: Size) {
    const size = sizeIn(ksize, "ksize", 0, MAX_KERNEL);
    const x = number(sigmaX, "sigmaX", 0, MAX_SIGMA);
    const y = number(sigmaY, "sigmaY", 0, MAX_SIGMA);
    assertKernel(size, [x, y === 0 ? x : y]);
    return { size, x, y, type: named(BLUR_BORDERS, border, "border") | ISOLATED };
  },
  makes({ src }, { size, x, y }) {
    const { columns, channels } = imageIn("GaussianBlur", "src", src, { dtypes: ["u8", "u16", "i16", "f32", "f64"] });
    // OpenCV keeps as many rows as the kernel has, and counts their values with an int.
    const kept = size[1] || 8 * (y || x) + 1;
    if (columns * channels * kept > MAX_INT) {
      const what = `${kept} rows of ${columns * channels} values are more than OpenCV can keep.`;
      throw unfit("GaussianBlur", "src", what);
    }
    return src.matShape;
  },
  call: ({ src, dst }, { size, x, y, type }) =>
    imgproc().GaussianBlur(src.slot.input, dst.slot.output, packed(size), x, y, type),
});

/** Throws an {@link ArgumentError} unless each extent is odd, or is 0 and has a sigma. */
function assertKernel(size: Size, sigmas: readonly [number, number]): void {
  for (const [i, extent] of size.entries()) {
    if (extent % 2 === 1 || (extent === 0 && sigmas[i] > 0)) continue;
    const or = extent === 0 ? `, or a sigma${"XY"[i]} to take it from` : "";
    throw wrong(`ksize[${i}]`, `expected an odd number${or}, got ${extent}.`);
  }
}

/** Options of `cv.Canny`. */
export interface CannyOptions extends OperationOptions {
  /** The size of the Sobel kernels; 3 by default. */
  readonly apertureSize?: 3 | 5 | 7;
  /** If true, a gradient's length is √(dx² + dy²); by default |dx| + |dy|. */
  readonly L2gradient?: boolean;
}

export const canny = operation({
  fn: "Canny",
  options: { apertureSize: true, L2gradient: true },
  read({ apertureSize = 3, L2gradient = false }: CannyOptions, threshold1: number, threshold2: number) {
    return [
      number(threshold1, "threshold1", 0, MAX_INT),
      number(threshold2, "threshold2", 0, MAX_INT),
      oneOf([3, 5, 7], apertureSize, "apertureSize"),
      Number(flag(L2gradient, "L2gradient")),
    ] as const;
  },
  makes({ src, dst }) {
    const image = imageIn("Canny", "src", src, { dtypes: ["u8"] });
    if (src === dst && image.channels > 1) throw unfit("Canny", "dst", "only one channel can be worked on in place.");
    return imageLike(image, image.rows, image.columns, 1);
  },
  call: ({ src, dst }, values) => imgproc().Canny(src.slot.input, dst.slot.output, ...values),
});

/** The result for a value. @see {@link ImgprocOperations.threshold} */
export type ThresholdType = "binary" | "binary-inv" | "trunc" | "tozero" | "tozero-inv";

const TYPES: Readonly<Record<ThresholdType, number>> = {
  "binary": THRESH_BINARY,
  "binary-inv": THRESH_BINARY_INV,
  "trunc": THRESH_TRUNC,
  "tozero": THRESH_TOZERO,
  "tozero-inv": THRESH_TOZERO_INV,
};

/** How OpenCV finds a threshold. */
export type ThresholdSearch = "otsu" | "triangle";

interface Search extends Accepted {
  readonly code: number;
}

const SEARCHES: Readonly<Record<ThresholdSearch, Search>> = {
  "otsu": { code: THRESH_OTSU, dtypes: ["u8", "u16"], channels: [1] },
  "triangle": { code: THRESH_TRIANGLE, dtypes: ["u8"], channels: [1] },
};

const GIVEN: Search = { code: 0, dtypes: ["u8", "u16", "i16", "f32", "f64"] };

/** Options of `cv.threshold`. */
export interface ThresholdOptions extends OperationOptions {
  /** Lets OpenCV find the threshold in the image's histogram; `thresh` is ignored then. */
  readonly search?: ThresholdSearch;
}

export const threshold = operation({
  fn: "threshold",
  options: { search: true },
  read({ search }: ThresholdOptions, thresh: number, maxval: number, type: ThresholdType) {
    const { code, ...accepted } = search === undefined ? GIVEN : named(SEARCHES, search, "search");
    return {
      by: search === undefined ? "threshold" : `threshold by ${search}`,
      accepted,
      thresh: number(thresh, "thresh"),
      maxval: number(maxval, "maxval"),
      flags: named(TYPES, type, "type") | code,
    };
  },
  makes({ src }, { by, accepted, thresh, maxval }) {
    const { dtype } = imageIn(by, "src", src, accepted);
    if (dtype !== "f32" && dtype !== "f64") { // OpenCV rounds both to ints
      number(thresh, "thresh", -MAX_INT, MAX_INT);
      number(maxval, "maxval", -MAX_INT, MAX_INT);
    }
    return src.matShape;
  },
  call: ({ src, dst }, { thresh, maxval, flags }) =>
    imgproc().threshold(src.slot.input, dst.slot.output, thresh, maxval, flags),
});
