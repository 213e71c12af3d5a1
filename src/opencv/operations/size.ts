import { wrong } from "../errors.ts";
import { MOST_INT } from "../limits.ts";
import { int } from "./values.ts";

/** `[width, height]`, in pixels: the order of `cv::Size`. */
export type Size = readonly [width: number, height: number];

/** A size that a program gave. @throws {ArgumentError} */
export function sizeIn(given: Size, argument: string, least = 1, most: number = MOST_INT): Size {
  if (!Array.isArray(given) || given.length !== 2) throw wrong(argument, "it is to be [width, height].");
  const [width, height] = given;
  return [int(width, `${argument}[0]`, least, most), int(height, `${argument}[1]`, least, most)];
}

/** A `cv::Size` as it is passed: two ints in one register. */
export function packed([width, height]: Size): bigint {
  return BigInt(width) | BigInt(height) << 32n;
}
