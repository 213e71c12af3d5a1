import { sizeOf } from "../../core/layout/dtype.ts";
import { unfitError } from "../errors.ts";
import type { OpenCVTensor } from "../tensor.ts";
import { channelsIn, dtypeIn, MAX_INT, typeName } from "../type.ts";
import { unfit } from "./image.ts";

/** The limit of values in a row, because OpenCV counts the bytes of a row, up to eight a value, with an int. */
const MAX_IN_ROW = 2 ** 28 - 1;

export interface Result {
  readonly sizes: readonly number[];
  readonly type: number;
}

export function assertFits(fn: string, dst: OpenCVTensor, result: Result): void {
  const { sizes, type } = dst.matShape;
  if (type === result.type && sizes.length === result.sizes.length && sizes.every((n, i) => n === result.sizes[i])) {
    return;
  }
  throw unfit(
    fn,
    "dst",
    `${fn} makes ${inWords(result)}; ${dst.name} is ${inWords(dst.matShape)}.`,
    "Map memory of that size and type; or pass { reallocate: true }, and take the result from the error.",
  );
}

/**
 * Throws a {@link LayoutError} unless OpenCV can count the image: some functions (GaussianBlur of floats, the Bayer
 * patterns) multiply rows by bytes, or values of a row by bytes, with an int.
 */
export function assertImage(argument: string, { name, matShape: { sizes, type }, layout }: OpenCVTensor): void {
  const fault = (what: string, remedy: string) => unfitError({ argument, problem: `${name} ${what}`, remedy });
  if (sizes.length > 2) {
    throw fault(
      `has ${sizes.length} dimensions; an image has rows, columns and channels.`,
      "Slice it, plane by plane.",
    );
  }
  const values = sizes[1] * channelsIn(type);
  if (values > MAX_IN_ROW) {
    throw fault(`has ${values} values in a row, and OpenCV counts ${MAX_IN_ROW}.`, "Slice it.");
  }
  if (layout.byteLength > MAX_INT) {
    throw fault(`reaches over ${layout.byteLength} bytes, and OpenCV counts ${MAX_INT}.`, "Slice it.");
  }
}

/** OpenCV does not check that the product of the extents fits into 64 bits. @throws {LayoutError} */
export function assertReallocatable(fn: string, dst: OpenCVTensor, result: Result): void {
  if (dst.ownsMemory) {
    throw unfit(
      fn,
      "dst",
      `${dst.name} lies in OpenCV's own memory, which would be freed if it were reallocated.`,
      "Pass an output that was mapped, or that cv.mat.create() has made.",
    );
  }
  const channels = channelsIn(result.type);
  const bytes = result.sizes.reduce((product, extent) => product * extent, channels * sizeOf(dtypeIn(result.type)));
  if (bytes <= MAX_INT && result.sizes[result.sizes.length - 1] * channels <= MAX_IN_ROW) return;
  throw unfit(fn, "dst", `${fn} makes ${inWords(result)}, and OpenCV counts ${MAX_INT} bytes.`);
}

function inWords({ sizes, type }: Result): string {
  return `${sizesInWords(sizes)} of ${typeName(type)}`;
}

export function sizesInWords(sizes: readonly number[]): string {
  if (sizes.length > 2) return sizes.join("×");
  return sizes.map((extent, i) => `${extent} ${i === 0 ? "row" : "column"}${extent === 1 ? "" : "s"}`).join(" × ");
}
