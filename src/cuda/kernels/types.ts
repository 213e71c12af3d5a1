import type { DType } from "../../core/dtype.ts";

/** How a number of CUDA C++ is written: its size, its range, and the way into a DataView. */
export interface Scalar {
  /** What may hold it in a tensor. */
  readonly dtypes: readonly DType[];
  /** Its size in bytes, which is its alignment. */
  readonly size: number;
  /** The range of a whole number; undefined where any number will do. */
  readonly range: readonly [least: number | bigint, most: number | bigint] | undefined;
  /** Writes a value that is in range. */
  write(view: DataView, offset: number, value: number | bigint): void;
}

/** A type of CUDA C++: how many of which scalar. */
export interface Element {
  /** What it is made of. */
  readonly scalar: Scalar;
  /** How many: 1 to 4. */
  readonly lanes: number;
  /** Its size in bytes. */
  readonly size: number;
  /** What its address is a multiple of. */
  readonly align: number;
}

type Write = Scalar["write"];

function integer(dtype: DType, size: 1 | 2 | 4, signed: boolean, write: Write): Scalar {
  const span = 2 ** (8 * size);
  return { dtypes: [dtype], size, range: signed ? [-span / 2, span / 2 - 1] : [0, span - 1], write };
}

function long(dtype: DType, signed: boolean): Scalar {
  const range = signed ? [-(2n ** 63n), 2n ** 63n - 1n] as const : [0n, 2n ** 64n - 1n] as const;
  return { dtypes: [dtype], size: 8, range, write: writeLong };
}

/** In two halves where it is a number: a bigint made of it would take longer than the rest. */
function writeLong(view: DataView, offset: number, value: number | bigint): void {
  if (typeof value === "bigint") return view.setBigInt64(offset, value, true);
  view.setUint32(offset, value, true);
  view.setInt32(offset + 4, Math.floor(value / 2 ** 32), true);
}

function float(dtype: DType, size: number, write: Write): Scalar {
  return { dtypes: [dtype], size, range: undefined, write };
}

/** The scalar types of CUDA C++ for Linux, by one name each. All are little-endian. */
const SCALARS = {
  bool: { ...integer("u8", 1, false, (view, at, value) => view.setUint8(at, Number(value))), range: [0, 1] },
  char: {
    ...integer("i8", 1, true, (view, at, value) => view.setInt8(at, Number(value))),
    dtypes: ["i8", "u8"], // C leaves open which it is
  },
  schar: integer("i8", 1, true, (view, at, value) => view.setInt8(at, Number(value))),
  uchar: integer("u8", 1, false, (view, at, value) => view.setUint8(at, Number(value))),
  short: integer("i16", 2, true, (view, at, value) => view.setInt16(at, Number(value), true)),
  ushort: integer("u16", 2, false, (view, at, value) => view.setUint16(at, Number(value), true)),
  int: integer("i32", 4, true, (view, at, value) => view.setInt32(at, Number(value), true)),
  uint: integer("u32", 4, false, (view, at, value) => view.setUint32(at, Number(value), true)),
  longlong: long("i64", true),
  ulonglong: long("u64", false),
  half: float("f16", 2, (view, at, value) => view.setFloat16(at, Number(value), true)),
  float: float("f32", 4, (view, at, value) => view.setFloat32(at, Number(value), true)),
  double: float("f64", 8, (view, at, value) => view.setFloat64(at, Number(value), true)),
} as const satisfies { readonly [name: string]: Scalar };

type Name = keyof typeof SCALARS;

/** The other names of the same types. */
const SPELLINGS: { readonly [spelling: string]: Name } = {
  "signed char": "schar",
  "int8_t": "schar",
  "unsigned char": "uchar",
  "uint8_t": "uchar",
  "short int": "short",
  "int16_t": "short",
  "unsigned short": "ushort",
  "unsigned short int": "ushort",
  "uint16_t": "ushort",
  "signed int": "int",
  "int32_t": "int",
  "unsigned": "uint",
  "unsigned int": "uint",
  "uint32_t": "uint",
  "long": "longlong",
  "long int": "longlong",
  "long long": "longlong",
  "long long int": "longlong",
  "int64_t": "longlong",
  "ptrdiff_t": "longlong",
  "intptr_t": "longlong",
  "ulong": "ulonglong",
  "unsigned long": "ulonglong",
  "unsigned long int": "ulonglong",
  "unsigned long long": "ulonglong",
  "unsigned long long int": "ulonglong",
  "size_t": "ulonglong",
  "uint64_t": "ulonglong",
  "uintptr_t": "ulonglong",
  "__half": "half",
};

/** `float4` and the like; __half2 is the only vector of halves, and there is none of bool. */
const VECTOR = /^(?:(u?(?:char|short|int|long|longlong)|float|double)([1-4])|(?:__)?(half)(2))$/;

/** What a type of CUDA C++ is made of; undefined where it is no number and no vector of numbers. */
export function elementOf(type: string): Element | undefined {
  const single = named(type);
  if (single !== undefined) return { scalar: single, lanes: 1, size: single.size, align: single.size };
  const [, base, count, half, two] = VECTOR.exec(type) ?? [];
  const scalar = named(base ?? half ?? "");
  if (scalar === undefined) return undefined;
  const lanes = Number(count ?? two);
  const size = scalar.size * lanes;
  // A vector of three is packed, and none is aligned to more than 16 bytes (vector_types.h).
  return { scalar, lanes, size, align: lanes === 3 ? scalar.size : Math.min(size, 16) };
}

function named(type: string): Scalar | undefined {
  const name = Object.hasOwn(SPELLINGS, type) ? SPELLINGS[type] : type;
  return Object.hasOwn(SCALARS, name) ? SCALARS[name as Name] : undefined;
}
