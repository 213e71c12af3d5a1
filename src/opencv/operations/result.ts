import { sizeOf } from "../../core/layout/dtype.ts";
import { LayoutError } from "../../core/errors.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { channelsIn, dtypeIn, typeName } from "../type.ts";
import { MOST_INT } from "../limits.ts";

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
 * Throws a {@link LayoutError} unless something is an image that OpenCV can count: some of its functions (GaussianBlur of
 * floats, the Bayer patterns) multiply rows by bytes, or values of a row by bytes, with an int.
 */
export function assertImage(argument: string, { name, shape: { sizes, type }, layout }: OpenCVTensor): void {
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
  if (layout.byteLength > MOST_INT) {
    throw fault(`reaches over ${layout.byteLength} bytes, and OpenCV counts ${MOST_INT}.`, "Slice it.");
  }
}

/**
 * Throws a {@link LayoutError} where OpenCV cannot give an output memory for the result. It does not look whether the
 * product of its extents fits into 64 bits, either.
 */
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
  if (bytes <= MOST_INT && result.sizes[result.sizes.length - 1] * channels <= MOST_IN_ROW) return;
  throw new LayoutError(`dst: ${fn} makes ${inWords(result)}, and OpenCV counts ${MOST_INT} bytes.`, {
    api: "opencv",
    fn,
    argument: "dst",
  });
}

function inWords({ sizes, type }: Result): string {
  return `${sizesInWords(sizes)} of ${typeName(type)}`;
}

/** The extents of a Mat, for messages: of two each by its name, for their order is not everywhere the same. */
export function sizesInWords(sizes: readonly number[]): string {
  if (sizes.length > 2) return sizes.join("×");
  return sizes.map((extent, i) => `${extent} ${i === 0 ? "row" : "column"}${extent === 1 ? "" : "s"}`).join(" × ");
}
