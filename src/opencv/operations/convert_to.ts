import { literal, type Names, optionsIn } from "../../core/argument.ts";
import type { DType } from "../../core/layout/dtype.ts";
import type { OpenCVContext } from "../context.ts";
import { wrong } from "../errors.ts";
import { core } from "../library.ts";
import { operate, type OperationOptions } from "../operate.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { channelsIn, depthOf, DTYPE_NAMES, typeOf } from "../type.ts";
import { OpenCVUMat } from "../umat.ts";
import { assertCopied } from "./gaps.ts";
import { number } from "./values.ts";

/** Options of `cv.convertTo`. */
export interface ConvertToOptions extends OperationOptions {
  /** Each value is multiplied by this; 1 by default. */
  readonly alpha?: number;
  /** This is added then; 0 by default. */
  readonly beta?: number;
}

const OPTIONS: Names<ConvertToOptions> = { alpha: true, beta: true, reallocate: true };

/** `Mat::convertTo`, `UMat::convertTo`. */
export function convertTo(
  cv: OpenCVContext,
  src: OpenCVTensor,
  dst: OpenCVTensor,
  rtype: DType,
  options: ConvertToOptions,
): void {
  const { alpha = 1, beta = 0, reallocate } = optionsIn(options, OPTIONS);
  const scale = [number(alpha, "alpha"), number(beta, "beta")] as const;
  const depth = typeof rtype === "string" ? depthOf(rtype) : undefined;
  if (depth === undefined) throw wrong("rtype", `expected one of ${DTYPE_NAMES}, got ${literal(rtype)}.`);
  operate(cv, {
    fn: "convertTo",
    inputs: { src },
    dst,
    makes: () => {
      const type = typeOf(depth, channelsIn(src.shape.type));
      if (type === src.shape.type && isCopy(...scale)) assertCopied("convertTo", src, dst);
      return { sizes: src.shape.sizes, type };
    },
    reallocate,
    anyRank: true,
    call: () => {
      const { header } = src.slot;
      if (src instanceof OpenCVUMat) core().UMat_convertTo(header, dst.slot.output, depth, ...scale);
      else core().Mat_convertTo(header, dst.slot.output, depth, ...scale);
    },
  });
}

/** OpenCV's own rule: without scaling and with the same depth, it copies. */
function isCopy(alpha: number, beta: number): boolean {
  return Math.abs(alpha - 1) < Number.EPSILON && Math.abs(beta) < Number.EPSILON;
}
