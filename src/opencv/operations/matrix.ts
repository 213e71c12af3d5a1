import { wrong } from "../errors.ts";
import { number } from "./values.ts";

/** A 2×3 matrix: two rows of three, or their six numbers one after the other. */
export type AffineMatrix =
  | readonly [a: number, b: number, c: number, d: number, e: number, f: number]
  | readonly [readonly [a: number, b: number, c: number], readonly [d: number, e: number, f: number]];

/** The six numbers of a matrix that a program gave. @throws {ArgumentError} */
export function matrixIn(given: AffineMatrix, argument: string): Float64Array<ArrayBuffer> {
  const rows = Array.isArray(given) ? Array.from<unknown>(given) : [];
  const numbers = rows.length === 2 && rows.every((row) => Array.isArray(row) && row.length === 3) ? rows.flat() : rows;
  if (numbers.length !== 6) throw wrong(argument, "it is to be six numbers, or two rows of three.");
  return Float64Array.from(numbers, (value, i) => number(value, `${argument}[${i}]`));
}
