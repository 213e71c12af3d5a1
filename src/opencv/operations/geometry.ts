import type { Address } from "../../../ffi/address.ts";
import { CV_64F } from "../../../ffi/opencv_core/constants.ts";
import {
  INTER_AREA,
  INTER_CUBIC,
  INTER_LANCZOS4,
  INTER_LINEAR,
  INTER_LINEAR_EXACT,
  INTER_NEAREST,
  INTER_NEAREST_EXACT,
  WARP_INVERSE_MAP,
} from "../../../ffi/opencv_imgproc/constants.ts";
import { ArgumentError } from "../../core/errors.ts";
import { PAGE } from "../../core/native/blocks.ts";
import { probePages } from "../../core/native/foreign_addresses.ts";
import { imgproc } from "../library.ts";
import { OpenCVMat } from "../mat.ts";
import { operation, type OperationOptions } from "../operate.ts";
import { type Accepted, imageIn, imageLike, unfit } from "./image.ts";
import { withMat } from "./temporary.ts";
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

interface Method extends Accepted {
  readonly code: number;
}

const DTYPES = ["u8", "u16", "i16", "f32", "f64"] as const;

/** How `cv.resize` computes pixels from others. */
export type Interpolation =
  | "nearest"
  | "nearest-exact"
  | "linear"
  | "linear-exact"
  | "cubic"
  | "area"
  | "lanczos4";

const RESIZES: Readonly<Record<Interpolation, Method>> = {
  "nearest": { code: INTER_NEAREST },
  "nearest-exact": { code: INTER_NEAREST_EXACT },
  "linear": { code: INTER_LINEAR, dtypes: DTYPES },
  "linear-exact": { code: INTER_LINEAR_EXACT, dtypes: DTYPES },
  "cubic": { code: INTER_CUBIC, dtypes: DTYPES },
  "area": { code: INTER_AREA, dtypes: DTYPES, channels: [1, 2, 3, 4] },
  "lanczos4": { code: INTER_LANCZOS4, dtypes: DTYPES },
};

/** How `cv.warpAffine` computes pixels from others. */
export type WarpInterpolation = "nearest" | "linear" | "cubic" | "lanczos4";

const WARPS: Readonly<Record<WarpInterpolation, Method>> = {
  "nearest": { code: INTER_NEAREST, dtypes: ["u8", "i8", "u16", "i16", "i32", "f32", "f64"] },
  "linear": { code: INTER_LINEAR, dtypes: DTYPES },
  "cubic": { code: INTER_CUBIC, dtypes: DTYPES, channels: [1, 2, 3, 4] },
  "lanczos4": { code: INTER_LANCZOS4, dtypes: DTYPES, channels: [1, 2, 3, 4] },
};

/** Options of `cv.resize`. */
export interface ResizeOptions extends OperationOptions {
  /** How pixels are computed; `"linear"` by default. `"area"` is best to make an image smaller. */
  readonly interpolation?: Interpolation;
}

export const resize = operation({
  fn: "resize",
  options: { interpolation: true },
  read({ interpolation = "linear" }: ResizeOptions, dsize: Size) {
    const size = sizeIn(dsize, "dsize");
    return { size, interpolation, ...named(RESIZES, interpolation, "interpolation") };
  },
  makes({ src, dst }, { size, interpolation, ...accepted }) {
    const image = imageIn(`resize by ${interpolation}`, "src", src, accepted);
    if (src === dst) throw unfit("resize", "dst", "OpenCV does not resize in place.");
    return imageLike(image, size[1], size[0]);
  },
  call({ src, dst }, { size, interpolation, code }) {
    if (interpolation === "nearest" && src instanceof OpenCVMat) assertReadableAround(src, size[0]);
    imgproc().resize(src.slot.input, dst.slot.output, packed(size), 0, 0, code);
  },
});

/** In a result wider than so many times its source, pixels at the ends of the source fill both halves of a vector. */
const MAX_TIMES = 7;

/**
 * With AVX2, OpenCV 4.6 gathers pixels of two bytes four bytes at a time (resizeNNInvokerAVX2). It may read two bytes before
 * the first pixel or after the last one, and crashes the process if they lie on another page that cannot be read.
 */
function assertReadableAround(
  { address, layout: { byteLength }, matShape: { sizes, steps } }: OpenCVMat,
  columns: number,
) {
  if (steps.at(-1) !== 2 || columns <= MAX_TIMES * sizes[1]) return;
  const end = address + BigInt(byteLength);
  for (const [inside, outside] of [[address, address - 2n], [end - 1n, end]]) {
    if (pageOf(outside) === pageOf(inside) && pageOf(outside + 1n) === pageOf(inside)) continue;
    try {
      probePages(outside as Address, 2, "opencv", "src");
    } catch (error) {
      if (!(error instanceof ArgumentError)) throw error;
      const where = outside < address ? "in front of it" : "behind it";
      throw unfit(
        "resize",
        "src",
        `OpenCV reads two bytes ${where} where pixels have two bytes, and that memory cannot be read.`,
        'Resize a part of a larger image, or with { interpolation: "nearest-exact" }.',
      );
    }
  }
}

function pageOf(address: bigint): bigint {
  return address / BigInt(PAGE);
}

/** The limit of columns and rows: OpenCV's warps count pixels with a `short`, and refuse SHRT_MAX. */
const MAX_WARPED = 2 ** 15 - 2;

/** Options of `cv.warpAffine`. */
export interface WarpAffineOptions extends OperationOptions {
  /** How pixels are computed; `"linear"` by default. */
  readonly interpolation?: WarpInterpolation;
  /** True if the matrix maps pixels of the result to the source (WARP_INVERSE_MAP). False by default. */
  readonly inverse?: boolean;
  /** The pixels beyond the edge; `"constant"` by default. */
  readonly border?: Border;
  /** The value of those pixels with `"constant"`; 0 by default. */
  readonly borderValue?: Scalar;
}

export const warpAffine = operation({
  fn: "warpAffine",
  options: { interpolation: true, inverse: true, border: true, borderValue: true },
  read(options: WarpAffineOptions, M: AffineMatrix, dsize: Size) {
    const { interpolation = "linear", inverse = false, border = "constant", borderValue = 0 } = options;
    const matrix = matrixIn(M, "M");
    const size = sizeIn(dsize, "dsize", 1, MAX_WARPED);
    const { code, ...accepted } = named(WARPS, interpolation, "interpolation");
    const flags = code | (flag(inverse, "inverse") ? WARP_INVERSE_MAP : 0);
    const mode = named(BORDERS, border, "border");
    return { interpolation, matrix, size, accepted, flags, mode, value: scalarIn(borderValue, "borderValue") };
  },
  makes({ src, dst }, { interpolation, size, accepted }) {
    const image = imageIn(`warpAffine by ${interpolation}`, "src", src, accepted);
    const { rows, columns } = image;
    if (Math.max(rows, columns) > MAX_WARPED) {
      throw unfit("warpAffine", "src", `expected at most ${MAX_WARPED} pixels a side, got ${columns}×${rows}.`);
    }
    if (src === dst) throw unfit("warpAffine", "dst", "OpenCV does not warp in place.");
    return imageLike(image, size[1], size[0]);
  },
  call: ({ src, dst }, { matrix, size, flags, mode, value }) =>
    withMat(
      matrix,
      { type: CV_64F, sizes: [2, 3] },
      (m) => imgproc().warpAffine(src.slot.input, dst.slot.output, m, packed(size), flags, mode, value),
    ),
});
