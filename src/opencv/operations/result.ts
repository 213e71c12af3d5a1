import { sizeOf } from "../../core/dtype.ts";
import { LayoutError } from "../../core/errors.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { channelsIn, dtypeIn, typeName } from "../type.ts";
import { MOST_INT } from "./limits.ts";

/** Each may take eight bytes, in one sum. */
const MOST_IN_ROW = 2 ** 28 - 1;

/** What an operation is going to make: sizes and type. */
export interface Result {
  /** The extent of each dimension. */
  readonly sizes: readonly number[];
  /** Depth and channels. */
  readonly type: number;
}

/** Throws a {@link LayoutError} unless an output has the size and type of the result: it says what that is. */
export function assertFits(fn: string, dst: OpenCVTensor, result: Result): void {
  const { sizes, type } = dst.shape;
  if (type === result.type && sizes.length === result.sizes.length && sizes.every((n, i) => n === result.sizes[i])) {
    return;
  }
  throw new LayoutError(`dst: ${fn} makes ${inWords(result)}; ${dst.name} is ${inWords(dst.shape)}.`, {
    api: "opencv",
    fn,
    argument: "dst",
    hint: "Map memory of that size and type; or pass { reallocate: true }, and take the result from the error.",
  });
}

/**
 * Throws a {@link LayoutError} unless something is an image whose rows OpenCV can count: where it counts bytes of a row, or
 * of what it makes of one on the way, it does so with an int.
 */
export function assertImage(argument: string, { name, shape: { sizes, steps, type } }: OpenCVTensor): void {
  const fault = (what: string, hint: string) =>
    new LayoutError(`${argument}: ${name} ${what}`, { api: "opencv", argument, hint });
  if (sizes.length > 2) {
    throw fault(
      `has ${sizes.length} dimensions; an image has rows, columns and channels.`,
      "Slice it, plane by plane.",
    );
  }
  const values = sizes[1] * channelsIn(type);
  if (values > MOST_IN_ROW) {
    throw fault(`has ${values} values in a row, and OpenCV counts ${MOST_IN_ROW}.`, "Slice it.");
  }
  if (steps[0] > MOST_INT) throw fault(`has rows ${steps[0]} bytes apart, and OpenCV counts ${MOST_INT}.`, "Slice it.");
}

/** More bytes than an address space has: OpenCV multiplies 64-bit numbers, and does not look whether they overflow. */
const MOST_BYTES = 2 ** 47;

/** Throws a {@link LayoutError} where OpenCV cannot give an output memory for the result. */
export function assertReallocatable(fn: string, dst: OpenCVTensor, result: Result): void {
  if (dst.ownsMemory) {
    throw new LayoutError(`dst: ${dst.name} is memory of OpenCV's own, which would be freed if it were reallocated.`, {
      api: "opencv",
      fn,
      argument: "dst",
      hint: "Pass an output that was mapped, or that cv.mat.create() has made.",
    });
  }
  const channels = channelsIn(result.type);
  const bytes = result.sizes.reduce((product, extent) => product * extent, channels * sizeOf(dtypeIn(result.type)));
  if (bytes < MOST_BYTES && result.sizes[result.sizes.length - 1] * channels <= MOST_IN_ROW) return;
  throw new LayoutError(`dst: ${fn} makes ${inWords(result)}: nobody has that much memory.`, {
    api: "opencv",
    fn,
    argument: "dst",
  });
}

function inWords({ sizes, type }: Result): string {
  return `${sizes.join("×")} ${typeName(type)}`;
}
