import { CV_CN_MAX, CV_MAX_DIM } from "../../ffi/opencv_core/constants.ts";
import { type DType, sizeOf } from "../core/layout/dtype.ts";
import { type Layout, layout } from "../core/layout/layout.ts";
import { MAX_INT } from "./type.ts";
import { channelsIn, depthOf, DTYPE_NAMES, dtypeIn, remedyOf, typeOf } from "./type.ts";

/** How a Mat or UMat describes its elements. */
export interface MatShape {
  /** Depth and channels: CV_8UC3 as a number. */
  readonly type: number;
  /** The extent of each dimension (`size`), without channels; at least two. */
  readonly sizes: readonly number[];
  /** Bytes from one element of each dimension to the next (`step`); the last is the size of a pixel. */
  readonly steps: readonly number[];
}

/** Why OpenCV cannot have a layout. */
export interface Unfit {
  /** The part of the layout at fault. */
  readonly argument: string;
  /** What is wrong with it. */
  readonly problem: string;
  /** What to do about it. */
  readonly remedy?: string | undefined;
}

/**
 * A layout in OpenCV's terms, by the rule of its Python bindings: `[n]` is n rows of one column, `[rows, columns]` has one
 * channel, `[rows, columns, channels]` has channels as its last dimension, and more dimensions have one channel.
 * @param channels the number of channels, to override that rule: unless it is 1, they are the last dimension
 */
export function shapeOf(at: Layout, channels?: number): MatShape | Unfit {
  if (channels !== undefined) return fitted(at, channels);
  const known = KNOWN.get(at);
  if (known !== undefined) return known;
  const shape = fitted(at);
  if (!("problem" in shape) && isFixed(at)) KNOWN.set(at, shape);
  return shape;
}

/** The results for frozen layouts: most maps are of a layout that was mapped before. */
const KNOWN = new WeakMap<Layout, MatShape>();

function isFixed(at: Layout): boolean {
  return Object.isFrozen(at) && Object.isFrozen(at.shape) && Object.isFrozen(at.strides);
}

function fitted(at: Layout, channels?: number): MatShape | Unfit {
  const { shape, strides, dtype } = at;
  const depth = depthOf(dtype);
  if (depth === undefined) {
    return unfit("dtype", `OpenCV 4 has no Mat of ${dtype}; it has ${DTYPE_NAMES}.`, remedyOf(dtype));
  }
  const last = shape.length - 1;
  if (last < 0) return unfit("shape", "a Mat has a dimension at least.", 'Give it one: shape "[1]".');
  const inLast = channels === undefined ? last === 2 : channels > 1;
  const count = inLast ? shape[last] : 1;
  if (inLast && channels !== undefined && (count !== channels || last === 0)) {
    return unfit("shape", `expected ${channels} channels as the last dimension, got ${count}.`);
  }
  if (count > CV_CN_MAX) {
    const remedy = "cv.matOf({ channels: 1 }) takes them for a dimension.";
    return unfit("shape", `expected at most ${CV_CN_MAX} channels (CV_CN_MAX), got ${count}.`, remedy);
  }
  const element = sizeOf(dtype);
  if (count > 1 && strides[last] !== element) {
    return unfit(`strides[${last}]`, `OpenCV needs adjacent channels; these are ${strides[last]} bytes apart.`);
  }
  const rank = inLast ? last : last + 1;
  const grid = gridOf(shape.slice(0, rank), strides.slice(0, rank), element * count);
  return "problem" in grid ? grid : Object.freeze({ type: typeOf(depth, count), ...grid });
}

/** Sizes and steps. OpenCV needs at least two dimensions, and each step has to cover the inner ones. */
function gridOf(sizes: number[], strides: number[], pixel: number): Pick<MatShape, "sizes" | "steps"> | Unfit {
  if (sizes.length === 1) {
    sizes.push(1);
    strides.push(pixel);
  }
  if (sizes.length > CV_MAX_DIM) {
    return unfit("shape", `expected at most ${CV_MAX_DIM} dimensions (CV_MAX_DIM), got ${sizes.length}.`);
  }
  const steps = new Array<number>(sizes.length);
  let within = pixel;
  for (let i = sizes.length - 1; i >= 0; i--) {
    if (sizes[i] > MAX_INT) {
      return unfit(`shape[${i}]`, `expected at most ${MAX_INT}, which an int holds, got ${sizes[i]}.`);
    }
    const isLast = i === sizes.length - 1;
    const step = sizes[i] === 1 ? within : strides[i];
    if (isLast && step !== pixel) {
      const problem = `OpenCV needs adjacent pixels, of ${pixel} bytes; these are ${step} bytes apart.`;
      return unfit(`strides[${i}]`, problem);
    }
    if (step < within) {
      return unfit(
        `strides[${i}]`,
        `expected at least ${within}, the bytes of the inner dimensions, got ${step}: OpenCV is row-major.`,
      );
    }
    steps[i] = step;
    within += step * (sizes[i] - 1);
  }
  return { sizes: Object.freeze(sizes), steps: Object.freeze(steps) };
}

export function layoutOf({ type, sizes, steps }: MatShape): Layout {
  const dtype: DType = dtypeIn(type);
  const channels = channelsIn(type);
  if (channels === 1) return layout({ shape: [...sizes], strides: [...steps], dtype });
  return layout({ shape: [...sizes, channels], strides: [...steps, sizeOf(dtype)], dtype });
}

function unfit(argument: string, problem: string, remedy?: string): Unfit {
  return { argument, problem, remedy };
}
