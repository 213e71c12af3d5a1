import { LayoutError } from "../../core/errors.ts";
import type { Dimension, Runs } from "../../core/layout/runs.ts";

/** Three sizes, or offsets: bytes in a row, rows, slices. */
export type Triple = readonly [number, number, number];

/** The box of bytes that two layouts have in common, as clEnqueue…BufferRect take it. */
export interface Box {
  /** Bytes of a row, rows, slices. */
  readonly region: Triple;
  /** Bytes from one row to the next, in each of the two. */
  readonly rowPitches: readonly number[];
  /** Bytes from one slice to the next, in each of the two. */
  readonly slicePitches: readonly number[];
}

/**
 * The runs of two layouts as a box.
 *
 * @throws {LayoutError} where they are none: OpenCL knows three dimensions, of which the second steps over whole rows
 * and the third over whole slices, by a multiple of a row (clEnqueueCopyBufferRect).
 */
export function boxOf({ length, dimensions }: Runs, fn: string, argument: string): Box {
  if (dimensions.length > 2) {
    throw noBox(`the elements lie in ${dimensions.length + 1} dimensions of bytes, ${fn} takes 3.`, fn, argument);
  }
  const [rows, slices] = dimensions;
  for (const i of [0, 1]) {
    const [row, slice] = [rows?.strides[i] ?? length, slices?.strides[i]];
    if (row < length || (slice !== undefined && slice < row * rows.count)) {
      throw noBox("the dimensions of the two lie in memory in different orders.", fn, argument);
    }
    if (slice !== undefined && slice % row !== 0) {
      throw noBox(`its slices are ${slice} bytes apart, which is no multiple of the ${row} of a row.`, fn, argument);
    }
  }
  const pitches = (dimension: Dimension | undefined) => dimension?.strides ?? [0, 0];
  return {
    region: [length, rows?.count ?? 1, slices?.count ?? 1],
    rowPitches: pitches(rows),
    slicePitches: pitches(slices),
  };
}

/** A part of what is to be transferred: one command. */
export interface Part {
  /** Where it begins in each of the two, in bytes from their first elements. */
  readonly begins: readonly number[];
  /** What it is. */
  readonly runs: Runs;
}

/**
 * The runs of two layouts in as few commands as every driver takes. NVIDIA's (580.159) counts the room behind the last
 * row, and behind the last slice, among the bytes of a buffer, and refuses a box that reaches over its end so: the last
 * of them goes by itself.
 *
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

/** Commands that one transfer may take: enough for the rows of any image, too few for its single elements. */
export const MOST_COMMANDS = 16_384;

/**
 * A part between two places of one buffer, as commands that have the same pitches in both: OpenCL takes no others there
 * (clEnqueueCopyBufferRect, CL_INVALID_VALUE).
 *
 * @throws {LayoutError} where those are too many.
 */
export function withOnePitch({ begins, runs: { length, dimensions } }: Part, fn: string, argument: string): Part[] {
  const differs = dimensions.findIndex(({ strides: [one, other] }) => one !== other);
  if (differs < 0) return [{ begins, runs: { length, dimensions } }];
  const [inner, outer] = [dimensions.slice(0, differs), dimensions.slice(differs)];
  const commands = outer.reduce((product, { count }) => product * count, 1);
  if (commands > MOST_COMMANDS) {
    const what =
      `the two lie in one buffer, with rows at different distances, so each of its ${commands} rows takes a ` +
      `command: more than ${MOST_COMMANDS}.`;
    throw noBox(what, fn, argument);
  }
  return placesOf(begins, outer).map((begins) => ({ begins, runs: { length, dimensions: inner } }));
}

/** Where each step along some dimensions begins, in each of several layouts. */
export function placesOf(begins: readonly number[], dimensions: readonly Dimension[]): (readonly number[])[] {
  let places = [begins];
  for (const { count, strides } of dimensions) {
    const step = (n: number) => places.map((place) => place.map((begin, i) => begin + n * strides[i]));
    places = Array.from({ length: count }, (_, n) => step(n)).flat();
  }
  return places;
}

/** As the functions take it. */
export function sizes(triple: Triple): BigUint64Array<ArrayBuffer> {
  return BigUint64Array.from(triple, BigInt);
}

function noBox(why: string, fn: string, argument: string): LayoutError {
  return new LayoutError(`${argument}: ${why}`, {
    api: "opencl",
    fn,
    argument,
    hint: "Transfer it in parts: slice(region(…)).",
  });
}
