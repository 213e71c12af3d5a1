import { ArgumentError } from "../../core/errors.ts";
import { int } from "./values.ts";

/** `[width, height]`, in pixels: the order of `cv::Size`. */
export type Size = readonly [width: number, height: number];

/** A size that a program gave. @throws {ArgumentError} */
export function sizeIn(given: Size, argument: string, least = 1): Size {
  if (!Array.isArray(given) || given.length !== 2) {
    throw new ArgumentError(`${argument}: it is to be [width, height].`, { api: "opencv", argument });
  }
  return [int(given[0], `${argument}[0]`, least), int(given[1], `${argument}[1]`, least)];
}

/** A `cv::Size` as it is passed: two ints in one register. */
export function packed([width, height]: Size): bigint {
  return BigInt(width) | BigInt(height) << 32n;
}
