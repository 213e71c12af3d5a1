import { assertFew, boxOf, type BoxPlace } from "../../core/device/box.ts";
import { countOf, placesOf, type Runs } from "../../core/layout/runs.ts";

export interface Part {
  /** Its offset in each of the two, in bytes from their first elements. */
  readonly begins: readonly number[];
  readonly runs: Runs;
}

/**
 * The runs of two layouts, in the fewest commands that every driver takes. NVIDIA's (580.159) counts the gap behind the
 * last row or slice as part of a box, and refuses a box whose last gap is beyond the buffer's end: the last row or slice
 * is a separate command then.
 * @param buffers which of the two layouts lie in a buffer
 */
export function partsOf(runs: Runs, buffers: readonly number[]): Part[] {
  const { length, dimensions } = runs;
  const outer = dimensions.at(-1);
  if (outer === undefined) return [{ begins: [0, 0], runs }];
  const inner = dimensions.slice(0, -1);
  const end = (i: number) => inner.reduce((sum, { count, strides }) => sum + (count - 1) * strides[i], length);
  if (buffers.every((i) => outer.strides[i] === end(i))) return [{ begins: [0, 0], runs }];
  const { count, strides } = outer;
  const last = partsOf({ length, dimensions: inner }, buffers).map((part) => ({
    ...part,
    begins: part.begins.map((begin, i) => begin + (count - 1) * strides[i]),
  }));
  const before = count === 2 ? inner : [...inner, { count: count - 1, strides }];
  return [{ begins: [0, 0], runs: { length, dimensions: before } }, ...last];
}

/**
 * OpenCL requires the same pitches on both sides within one buffer (clEnqueueCopyBufferRect, CL_INVALID_VALUE).
 * @throws {LayoutError} if the commands are too many.
 */
export function withOnePitch({ begins, runs: { length, dimensions } }: Part, fn: string, argument: string): Part[] {
  const differs = dimensions.findIndex(({ strides: [one, other] }) => one !== other);
  if (differs < 0) return [{ begins, runs: { length, dimensions } }];
  const [inner, outer] = [dimensions.slice(0, differs), dimensions.slice(differs)];
  assertFew(countOf(outer), "the two, which lie in one buffer,", { api: "opencl", fn, argument });
  return placesOf(begins, outer).map((begins) => ({ begins, runs: { length, dimensions: inner } }));
}

export function rectOf(runs: Runs, place: BoxPlace) {
  const { length, rows, slices, rowPitches, slicePitches } = boxOf(runs, 3, place);
  const [row, otherRow] = rowPitches.map(BigInt);
  const [slice, otherSlice] = slicePitches.map(BigInt);
  return { region: sizes(length, rows, slices), pitches: [row, slice, otherRow, otherSlice] as const };
}

export function sizes(...three: readonly [number, number, number]): BigUint64Array<ArrayBuffer> {
  return BigUint64Array.from(three, BigInt);
}
