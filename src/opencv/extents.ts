import { MAT_CONTINUOUS_FLAG, MAT_MAGIC_VAL } from "../../ffi/opencv_core/constants.ts";
import type { MatShape } from "./shape.ts";
import { channelsIn } from "./type.ts";

export interface Extents {
  readonly flags: number;
  readonly dims: number;
  readonly rows: number;
  readonly cols: number;
  readonly step_buf_0: bigint;
  readonly step_buf_1: bigint;
  readonly length: bigint;
  /** Bytes from the first to the end of the last row's step. */
  readonly limit: bigint;
}

/** A cache, because most headers repeat an earlier shape, and making the bigints takes longest. */
const EXTENTS = new WeakMap<MatShape, Extents>();

export function extentsOf(shape: MatShape): Extents {
  let extents = EXTENTS.get(shape);
  if (extents === undefined) EXTENTS.set(shape, extents = measured(shape));
  return extents;
}

function measured({ type, sizes, steps }: MatShape): Extents {
  const dims = sizes.length;
  const flat = dims <= 2;
  const pixel = steps[dims - 1];
  return {
    flags: MAT_MAGIC_VAL | type | (isContinuous(type, sizes, steps) ? MAT_CONTINUOUS_FLAG : 0),
    dims: sizes[0] === 0 ? 0 : dims,
    rows: flat ? sizes[0] : -1,
    cols: flat ? sizes[1] : -1,
    step_buf_0: flat ? BigInt(steps[0]) : 0n,
    step_buf_1: flat ? BigInt(steps[1]) : 0n,
    length: BigInt(steps.reduce((sum, step, i) => sum + step * (sizes[i] - 1), pixel)),
    limit: BigInt(sizes[0] * steps[0]),
  };
}

/** OpenCV's own rule (updateContinuityFlag): no gap between rows, and no more elements than an int can count. */
export function isContinuous(type: number, sizes: readonly number[], steps: readonly number[]): boolean {
  const first = sizes.findIndex((size) => size > 1);
  let elements = (first < 0 ? 1 : sizes[first]) * channelsIn(type);
  for (let i = sizes.length - 1; i > first && first >= 0; i--) {
    elements *= sizes[i];
    if (steps[i] * sizes[i] < steps[i - 1]) return false;
  }
  return elements < 2 ** 31;
}
