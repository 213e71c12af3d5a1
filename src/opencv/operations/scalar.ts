import { wrong } from "../errors.ts";
import { number } from "./values.ts";

/** A value for each channel (`cv::Scalar`); a number is one for all of them. Those that are left out are 0. */
export type Scalar = number | readonly number[];

/** Four numbers, as OpenCV takes them. @throws {ArgumentError} */
export function scalarIn(given: Scalar, argument: string): Float64Array<ArrayBuffer> {
  const values = new Float64Array(4);
  if (!Array.isArray(given)) return values.fill(number(given, argument));
  const { length } = given;
  if (length > 4) throw wrong(argument, `${length} values are more than the 4 of a cv::Scalar.`);
  for (let i = 0; i < length; i++) values[i] = number(given[i], `${argument}[${i}]`);
  return values;
}
