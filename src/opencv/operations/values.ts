import { literal } from "../../core/argument.ts";
import { wrong } from "../errors.ts";
import { namesNear, withoutPrefix } from "./names.ts";
import { MAX_INT } from "../type.ts";
import {
  BORDER_CONSTANT,
  BORDER_ISOLATED,
  BORDER_REFLECT,
  BORDER_REFLECT_101,
  BORDER_REPLICATE,
  BORDER_WRAP,
} from "../../../ffi/opencv_imgproc/constants.ts";

const LISTED = 16;

/** Checks that a value is a finite number within bounds. @throws {ArgumentError} otherwise. */
export function number(given: unknown, argument: string, least = -Infinity, most = Infinity): number {
  if (typeof given === "number" && Number.isFinite(given) && given >= least && given <= most) return given;
  const range = least === -Infinity ? "" : most === Infinity ? ` of at least ${least}` : ` from ${least} to ${most}`;
  throw wrong(argument, `expected a number${range}, got ${literal(given)}.`);
}

/** Checks that a value is a whole number within bounds. @throws {ArgumentError} otherwise. */
export function int(given: unknown, argument: string, least: number, most: number): number {
  if (Number.isInteger(given) && (given as number) >= least && (given as number) <= most) return given as number;
  throw wrong(argument, `expected a whole number from ${least} to ${most}, got ${literal(given)}.`);
}

export function flag(given: unknown, argument: string): boolean {
  if (typeof given === "boolean") return given;
  throw wrong(argument, `expected true or false, got ${literal(given)}.`);
}

/** Checks that a value is one of several numbers. @throws {ArgumentError} otherwise. */
export function oneOf(numbers: readonly number[], given: unknown, argument: string): number {
  if (numbers.includes(given as number)) return given as number;
  throw wrong(argument, `expected one of ${numbers.join(", ")}, got ${literal(given)}.`);
}

export function named<N extends string, V>(table: Readonly<Record<N, V>>, given: unknown, argument: string): V {
  if (typeof given === "string" && Object.hasOwn(table, given)) return table[given as N];
  const names = Object.keys(table);
  const few = names.length <= LISTED;
  const all = few ? names.join(", ") : `${names.length} names`;
  const hint = withoutPrefix(names, given) ?? (few ? undefined : nearest(names, given));
  throw wrong(argument, `expected one of ${all}, got ${literal(given)}.`, hint);
}

function nearest(names: readonly string[], given: unknown): string | undefined {
  const near = namesNear(names, given);
  return near.length === 0 ? undefined : `Near it: ${near.join(", ")}.`;
}

/** A value for each channel (`cv::Scalar`), 0 if left out; or one number for all channels. */
export type Scalar = number | readonly number[];

export function scalarIn(given: Scalar, argument: string): Float64Array<ArrayBuffer> {
  const values = new Float64Array(4);
  if (!Array.isArray(given)) return values.fill(number(given, argument));
  const { length } = given;
  if (length > 4) throw wrong(argument, `expected at most 4 values (cv::Scalar), got ${length}.`);
  for (let i = 0; i < length; i++) values[i] = number(given[i], `${argument}[${i}]`);
  return values;
}

/** `[width, height]`, in pixels: the order of `cv::Size`. */
export type Size = readonly [width: number, height: number];

export function sizeIn(given: Size, argument: string, least = 1, most: number = MAX_INT): Size {
  if (!Array.isArray(given) || given.length !== 2) throw wrong(argument, "expected [width, height].");
  const [width, height] = given;
  return [int(width, `${argument}[0]`, least, most), int(height, `${argument}[1]`, least, most)];
}

/** A `cv::Size` as C++ passes it: two ints in one register. */
export function packed([width, height]: Size): bigint {
  return BigInt(width) | BigInt(height) << 32n;
}

/** A 2×3 matrix: two rows of three, or their six numbers one after the other. */
export type AffineMatrix =
  | readonly [a: number, b: number, c: number, d: number, e: number, f: number]
  | readonly [readonly [a: number, b: number, c: number], readonly [d: number, e: number, f: number]];

export function matrixIn(given: AffineMatrix, argument: string): Float64Array<ArrayBuffer> {
  const rows = firstOf(given, 7);
  const numbers = rows.length === 2 ? rows.flatMap((row) => firstOf(row, 4)) : rows;
  if (numbers.length !== 6) throw wrong(argument, "expected six numbers, or two rows of three.");
  return Float64Array.from(numbers, (value, i) => number(value, `${argument}[${i}]`));
}

/** The first items of an array, which may be billions long. */
function firstOf(given: unknown, most: number): unknown[] {
  if (!Array.isArray(given)) return [];
  return Array.from({ length: Math.min(given.length, most) }, (_, i) => given[i]);
}

/** The pixels beyond an image's edge; OpenCV's default is `"reflect-101"`. */
export type Border = "constant" | "replicate" | "reflect" | "wrap" | "reflect-101";

export const BORDERS: Readonly<Record<Border, number>> = {
  "constant": BORDER_CONSTANT,
  "replicate": BORDER_REPLICATE,
  "reflect": BORDER_REFLECT,
  "wrap": BORDER_WRAP,
  "reflect-101": BORDER_REFLECT_101,
};

/** Operations do not read the memory around a Mat or UMat, because another holder may own it. */
export const ISOLATED: number = BORDER_ISOLATED;
