import { literal } from "../../core/argument.ts";
import type { DType } from "../../core/layout/dtype.ts";
import { wrong } from "../errors.ts";
import { core } from "../library.ts";
import { operation, type OperationOptions } from "../operate.ts";
import { noArray } from "../slots.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { channelsIn, depthOf, DTYPE_NAMES, typeOf } from "../type.ts";
import { OpenCVUMat } from "../umat.ts";
import { copyBoxes } from "./copy_boxes.ts";
import { elementsOf, unfit } from "./image.ts";
import { sizesInWords } from "./result.ts";
import { named, number } from "./values.ts";

/** Options of `cv.copyTo`. */
export interface CopyToOptions extends OperationOptions {
  /** Elements are copied where the mask is not 0. CV_8U, of the same size, with one channel or as many as `src`. */
  readonly mask?: OpenCVTensor;
}

export const copyTo = operation({
  fn: "copyTo",
  options: { mask: true },
  anyRank: true,
  read: ({ mask }: CopyToOptions) => mask,
  besides: (mask): Record<string, OpenCVTensor> => mask === undefined ? {} : { mask },
  makes({ src }, mask) {
    if (mask !== undefined) assertMask(mask, src);
    return src.matShape;
  },
  call({ src, dst }, mask) {
    if (mask === undefined) return copy(src, dst);
    const masked = src instanceof OpenCVUMat ? core().UMat_copyToMasked : core().Mat_copyToMasked;
    masked(src.slot.header, dst.slot.output, mask.slot.input);
  },
});

function copy(src: OpenCVTensor, dst: OpenCVTensor): void {
  const native = src instanceof OpenCVUMat ? core().UMat_copyTo : core().Mat_copyTo;
  copyBoxes(src, dst, (from, to) => native(from.header, to.output));
}

function assertMask(mask: OpenCVTensor, src: OpenCVTensor): void {
  elementsOf("copyTo's mask", "mask", mask, { dtypes: ["u8"], channels: [1, channelsIn(src.matShape.type)] });
  const [sizes, wanted] = [mask.matShape.sizes, src.matShape.sizes];
  if (sizes.length === wanted.length && sizes.every((size, i) => size === wanted[i])) return;
  const what = `expected ${sizesInWords(wanted)}, the size of src; ${mask.name} is ${sizesInWords(sizes)}.`;
  throw unfit("copyTo", "mask", what);
}

/** Options of `cv.convertTo`. */
export interface ConvertToOptions extends OperationOptions {
  /** The factor; 1 by default. */
  readonly alpha?: number;
  /** The summand, added after the multiplication; 0 by default. */
  readonly beta?: number;
}

export const convertTo = operation({
  fn: "convertTo",
  options: { alpha: true, beta: true },
  anyRank: true,
  read({ alpha = 1, beta = 0 }: ConvertToOptions, rtype: DType) {
    const scale = [number(alpha, "alpha"), number(beta, "beta")] as const;
    const depth = typeof rtype === "string" ? depthOf(rtype) : undefined;
    if (depth === undefined) throw wrong("rtype", `expected one of ${DTYPE_NAMES}, got ${literal(rtype)}.`);
    return { depth, scale };
  },
  makes: ({ src }, { depth }) => ({ sizes: src.matShape.sizes, type: typeOf(depth, channelsIn(src.matShape.type)) }),
  call({ src, dst }, { depth, scale }) {
    if (isCopy(...scale) && typeOf(depth, channelsIn(src.matShape.type)) === src.matShape.type) return copy(src, dst);
    const convert = src instanceof OpenCVUMat ? core().UMat_convertTo : core().Mat_convertTo;
    convert(src.slot.header, dst.slot.output, depth, ...scale);
  },
});

/** OpenCV's own rule: at the same depth and without scaling, it copies. */
function isCopy(alpha: number, beta: number): boolean {
  return Math.abs(alpha - 1) < Number.EPSILON && Math.abs(beta) < Number.EPSILON;
}

/** `cv::bitwise_not` without a mask: with one, OpenCV 4.6 takes an image of one column for a scalar, and throws. */
export const bitwiseNot = operation({
  fn: "bitwise_not",
  options: {},
  anyRank: true,
  read: (_: OperationOptions) => undefined,
  call: ({ src, dst }) => core().bitwise_not(src.slot.input, dst.slot.output, noArray()),
});

/** The axis to flip an image around: x swaps the rows, y the columns. */
export type FlipCode = "x-axis" | "y-axis" | "both-axes";

const FLIPS: Readonly<Record<FlipCode, number>> = { "x-axis": 0, "y-axis": 1, "both-axes": -1 };

export const flip = operation({
  fn: "flip",
  options: {},
  read: (_: OperationOptions, flipCode: FlipCode) => named(FLIPS, flipCode, "flipCode"),
  makes({ src, dst }) {
    // Two work-items of the flip kernel swap the same pixels of the middle row.
    if (src === dst && src instanceof OpenCVUMat) throw unfit("flip", "dst", "a UMat cannot be flipped in place.");
    return src.matShape;
  },
  call: ({ src, dst }, code) => core().flip(src.slot.input, dst.slot.output, code),
});
