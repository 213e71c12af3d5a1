import { CV_MAT_DEPTH_MASK } from "../../../ffi/opencv_core/constants.ts";
import type { DType } from "../../core/layout/dtype.ts";
import { LayoutError } from "../../core/errors.ts";
import type { MatShape } from "../shape.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { channelsIn, dtypeIn, typeName, typeOf } from "../type.ts";

export interface Accepted {
  readonly dtypes?: readonly DType[];
  readonly channels?: readonly number[];
}

export interface Image {
  readonly rows: number;
  readonly columns: number;
  readonly dtype: DType;
  readonly channels: number;
  readonly type: number;
}

/** A Mat or UMat of two dimensions as an image. @throws {LayoutError} if the operation does not take it. */
export function imageIn(fn: string, argument: string, tensor: OpenCVTensor, accepted: Accepted = {}): Image {
  const [rows, columns] = tensor.matShape.sizes;
  return { rows, columns, ...elementsOf(fn, argument, tensor, accepted) };
}

/** The elements of a Mat or UMat of any dimensions. @throws {LayoutError} like {@link imageIn}. */
export function elementsOf(fn: string, argument: string, tensor: OpenCVTensor, accepted: Accepted) {
  const { type } = tensor.matShape;
  const [dtype, channels] = [dtypeIn(type), channelsIn(type)];
  const { dtypes = [dtype], channels: counts = [channels] } = accepted;
  if (!dtypes.includes(dtype)) {
    throw unfit(fn, argument, `${fn} takes ${dtypes.join(", ")}; ${tensor.name} is ${dtype} (${typeName(type)}).`);
  }
  if (!counts.includes(channels)) {
    const what = `${fn} takes ${counts.join(" or ")} channel${counts.length > 1 || counts[0] > 1 ? "s" : ""}`;
    throw unfit(fn, argument, `${what}; ${tensor.name} has ${channels}.`);
  }
  return { dtype, channels, type };
}

export function imageLike(
  { type }: Pick<MatShape, "type">,
  rows: number,
  columns: number,
  channels: number = channelsIn(type),
): Pick<MatShape, "sizes" | "type"> {
  return { sizes: [rows, columns], type: typeOf(type & CV_MAT_DEPTH_MASK, channels) };
}

export function unfit(fn: string, argument: string, what: string, hint?: string): LayoutError {
  return new LayoutError(`${argument}: ${what}`, { api: "opencv", fn, argument, hint });
}
