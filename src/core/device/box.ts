import { LayoutError } from "../errors.ts";
import type { Runs } from "../layout/runs.ts";

/** An argument of a native function, for messages. */
export interface BoxPlace {
  /** The API, as errors name it. */
  readonly api: string;
  /** The native function that takes the box. */
  readonly fn: string;
  /** The argument, as errors name it. */
  readonly argument: string;
}

/** A box of bytes, as a native function copies it. */
export interface Box {
  /** Bytes of a row. */
  readonly length: number;
  /** Rows of a slice. */
  readonly rows: number;
  /** Slices. */
  readonly slices: number;
  /** Bytes from one row to the next, in each layout; 0 where there is one row. */
  readonly rowPitches: readonly number[];
  /** Bytes from one slice to the next, in each layout; 0 where there is one slice. */
  readonly slicePitches: readonly number[];
}

const NO_PITCHES = [0, 0];

/**
 * The runs of layouts as a box of two or three dimensions.
 *
 * @throws {LayoutError} if they are not a box. In a box, rows do not overlap, and slices are a multiple of a row apart.
 */
export function boxOf({ length, dimensions }: Runs, most: 2 | 3, { api, fn, argument }: BoxPlace): Box {
  const wrong = (what: string) =>
    new LayoutError(`${argument}: ${what}`, { api, fn, argument, hint: "Transfer it in parts: slice(region(…))." });
  if (dimensions.length >= most) {
    throw wrong(`the elements lie in ${dimensions.length + 1} dimensions of bytes, ${fn} takes ${most}.`);
  }
  const [rows, slices] = dimensions;
  rows?.strides.forEach((row, i) => {
    const slice = slices?.strides[i];
    if (row < length || (slice !== undefined && slice < row * rows.count)) {
      throw wrong("the dimensions lie in memory in another order, or inside of each other.");
    }
    if (slice !== undefined && slice % row !== 0) {
      throw wrong(`its slices are ${slice} bytes apart, which is not a multiple of the ${row} of a row.`);
    }
  });
  return {
    length,
    rows: rows?.count ?? 1,
    slices: slices?.count ?? 1,
    rowPitches: rows?.strides ?? NO_PITCHES,
    slicePitches: slices?.strides ?? NO_PITCHES,
  };
}

/** The most commands of one transfer: enough for the rows of any image, too few for its single elements. */
const MAX_COMMANDS = 16_384;

/** Throws if rows with gaps between them, each of which takes a command, are too many. */
export function assertFew(rows: number, name: string, about: { api: string; argument: string; fn?: string }): void {
  if (rows <= MAX_COMMANDS) return;
  const what = `each of the ${rows} rows of ${name} takes a command, because of the gaps: more than ${MAX_COMMANDS}.`;
  throw new LayoutError(`${about.argument}: ${what}`, { ...about, hint: "Transfer it in parts: slice(region(…))." });
}
