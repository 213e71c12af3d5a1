import type { DType } from "../../core/layout/dtype.ts";
import { NUMBERS, type Numbers } from "../../core/layout/numbers.ts";

/** A type of OpenCL C: how many of which numbers. */
export interface Element {
  /** What it is made of. */
  readonly numbers: Numbers;
  /** How many: 1, 2, 3, 4, 8 or 16. */
  readonly lanes: number;
  /** The size of a value in bytes, and what its address is a multiple of. */
  readonly size: number;
}

/** The size of the largest type, a `long16` or `double16`, in bytes: no type has to be aligned to more. */
export const LARGEST_TYPE = 128;

/** The scalar types of OpenCL C (6.3.1), which its vectors are made of. */
const SCALARS: { readonly [type: string]: DType } = {
  char: "i8",
  uchar: "u8",
  short: "i16",
  ushort: "u16",
  int: "i32",
  uint: "u32",
  long: "i64",
  ulong: "u64",
  half: "f16",
  float: "f32",
  double: "f64",
};

/** What a type of OpenCL C, or what it points to, is made of; undefined where it is no number and no vector. */
export function elementOf(type: string): Element | undefined {
  const [, base, count] = /^(?:const |volatile |restrict )*(unsigned \w+|[a-z]+?)(2|3|4|8|16)?\s*\**$/.exec(type) ?? [];
  const name = base?.replace("unsigned ", "u");
  if (name === undefined || !Object.hasOwn(SCALARS, name)) return undefined;
  const numbers = NUMBERS[SCALARS[name]];
  const lanes = Number(count ?? 1);
  // A vector of three takes the room of four (OpenCL C 6.3.5).
  return { numbers, lanes, size: numbers.size * (lanes === 3 ? 4 : lanes) };
}
