import { CV_MAT_DEPTH_MASK } from "../../../ffi/opencv_core/constants.ts";
import type { DType } from "../../core/layout/dtype.ts";
import { LayoutError } from "../../core/errors.ts";
import type { MatShape } from "../shape.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { channelsIn, dtypeIn, typeName, typeOf } from "../type.ts";

/** What an operation makes of one of its arguments; what is left out does not matter to it. */
export interface Accepted {
  /** The depths that it knows. */
  readonly dtypes?: readonly DType[];
  /** The numbers of channels that it knows. */
  readonly channels?: readonly number[];
}

/** A Mat or UMat of two dimensions. */
export interface Image {
  /** `Mat::rows`. */
  readonly rows: number;
  /** `Mat::cols`. */
  readonly columns: number;
  /** What one channel of a pixel is. */
  readonly dtype: DType;
  /** How many values a pixel has. */
  readonly channels: number;
  /** Depth and channels. */
  readonly type: number;
}

/** The image that a Mat or UMat is, whose dimensions were counted. @throws {LayoutError} where it is none to take. */
export function imageIn(fn: string, argument: string, tensor: OpenCVTensor, accepted: Accepted = {}): Image {
  const [rows, columns] = tensor.shape.sizes;
  return { rows, columns, ...elementsOf(fn, argument, tensor, accepted) };
}

/** What the elements of a Mat or UMat are, whatever its dimensions. @throws {LayoutError} like {@link imageIn}. */
export function elementsOf(fn: string, argument: string, tensor: OpenCVTensor, accepted: Accepted) {
  const { type } = tensor.shape;
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

/** The shape of an image like one that is there. */
export function imageLike(
  { type }: Pick<MatShape, "type">,
  rows: number,
  columns: number,
  channels: number = channelsIn(type),
): Pick<MatShape, "sizes" | "type"> {
  return { sizes: [rows, columns], type: typeOf(type & CV_MAT_DEPTH_MASK, channels) };
}

/** The error of a Mat or UMat that an operation has no use for. */
export function unfit(fn: string, argument: string, what: string, hint?: string): LayoutError {
  return new LayoutError(`${argument}: ${what}`, {
    api: "opencv",
    fn,
    argument,
    ...(hint === undefined ? {} : { hint }),
  });
}
