import type { DType } from "../../core/dtype.ts";

/** How a scalar type is written: its size, its range, and the way into a DataView. */
export interface Scalar {
  /** What holds it in a tensor. */
  readonly dtype: DType;
  /** Its size in bytes. */
  readonly size: number;
  /** The range of a whole number; undefined where any number will do. */
  readonly range: readonly [least: number | bigint, most: number | bigint] | undefined;
  /** Writes a value that is in range. */
  write(view: DataView, offset: number, value: number | bigint): void;
}

/** A type of OpenCL C: how many of which scalar. */
export interface Element {
  /** What it is made of. */
  readonly scalar: Scalar;
  /** How many: 1, 2, 3, 4, 8 or 16. */
  readonly lanes: number;
  /** The size of a value in bytes, and what its address is a multiple of. */
  readonly size: number;
}

type Write = Scalar["write"];

function integer(dtype: DType, size: 1 | 2 | 4, signed: boolean, write: Write): Scalar {
  const span = 2 ** (8 * size);
  return { dtype, size, range: signed ? [-span / 2, span / 2 - 1] : [0, span - 1], write };
}

function long(dtype: DType, signed: boolean, write: Write): Scalar {
  return { dtype, size: 8, range: signed ? [-(2n ** 63n), 2n ** 63n - 1n] : [0n, 2n ** 64n - 1n], write };
}

function float(dtype: DType, size: number, write: Write): Scalar {
  return { dtype, size, range: undefined, write };
}

/** The scalar types of OpenCL C (6.3.1), which its vectors are made of. All are little-endian. */
const SCALARS: { readonly [type: string]: Scalar } = {
  char: integer("i8", 1, true, (view, at, value) => view.setInt8(at, Number(value))),
  uchar: integer("u8", 1, false, (view, at, value) => view.setUint8(at, Number(value))),
  short: integer("i16", 2, true, (view, at, value) => view.setInt16(at, Number(value), true)),
  ushort: integer("u16", 2, false, (view, at, value) => view.setUint16(at, Number(value), true)),
  int: integer("i32", 4, true, (view, at, value) => view.setInt32(at, Number(value), true)),
  uint: integer("u32", 4, false, (view, at, value) => view.setUint32(at, Number(value), true)),
  long: long("i64", true, (view, at, value) => view.setBigInt64(at, BigInt(value), true)),
  ulong: long("u64", false, (view, at, value) => view.setBigUint64(at, BigInt(value), true)),
  half: float("f16", 2, (view, at, value) => view.setFloat16(at, Number(value), true)),
  float: float("f32", 4, (view, at, value) => view.setFloat32(at, Number(value), true)),
  double: float("f64", 8, (view, at, value) => view.setFloat64(at, Number(value), true)),
};

/** What a type of OpenCL C, or what it points to, is made of; undefined where it is no number and no vector. */
export function elementOf(type: string): Element | undefined {
  const [, base, count] = /^(?:const |volatile |restrict )*(unsigned \w+|[a-z]+?)(2|3|4|8|16)?\s*\**$/.exec(type) ?? [];
  const name = base?.replace("unsigned ", "u");
  if (name === undefined || !Object.hasOwn(SCALARS, name)) return undefined;
  const scalar = SCALARS[name];
  const lanes = Number(count ?? 1);
  // A vector of three takes the room of four (OpenCL C 6.3.5).
  return { scalar, lanes, size: scalar.size * (lanes === 3 ? 4 : lanes) };
}
