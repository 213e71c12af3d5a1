import { wrong } from "../errors.ts";
import { number } from "./values.ts";

/** A 2×3 matrix: two rows of three, or their six numbers one after the other. */
export type AffineMatrix =
  | readonly [a: number, b: number, c: number, d: number, e: number, f: number]
  | readonly [readonly [a: number, b: number, c: number], readonly [d: number, e: number, f: number]];

/** The six numbers of a matrix that a program gave. @throws {ArgumentError} */
export function matrixIn(given: AffineMatrix, argument: string): Float64Array<ArrayBuffer> {
  const rows = firstOf(given, 7);
  const numbers = rows.length === 2 ? rows.flatMap((row) => firstOf(row, 4)) : rows;
  if (numbers.length !== 6) throw wrong(argument, "it is to be six numbers, or two rows of three.");
  return Float64Array.from(numbers, (value, i) => number(value, `${argument}[${i}]`));
}

/** The first items of an array, by their indices: it may say that it has billions. */
function firstOf(given: unknown, most: number): unknown[] {
  if (!Array.isArray(given)) return [];
  return Array.from({ length: Math.min(given.length, most) }, (_, i) => given[i]);
}
