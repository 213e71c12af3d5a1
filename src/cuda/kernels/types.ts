import type { DType } from "../../core/layout/dtype.ts";
import { NUMBERS, type Numbers } from "../../core/layout/numbers.ts";

/** A scalar type of CUDA C++. */
export interface Scalar {
  /** Its values. */
  readonly numbers: Numbers;
  /** What may hold it in a tensor. */
  readonly dtypes: readonly DType[];
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

function scalar(...dtypes: readonly [DType, ...DType[]]): Scalar {
  return { numbers: NUMBERS[dtypes[0]], dtypes };
}

/** The scalar types of CUDA C++ for Linux, by one name each. */
const SCALARS = {
  bool: { numbers: NUMBERS.u8.within(0n, 1n), dtypes: ["u8"] },
  char: scalar("i8", "u8"), // C leaves open which it is
  schar: scalar("i8"),
  uchar: scalar("u8"),
  short: scalar("i16"),
  ushort: scalar("u16"),
  int: scalar("i32"),
  uint: scalar("u32"),
  longlong: scalar("i64"),
  ulonglong: scalar("u64"),
  half: scalar("f16"),
  float: scalar("f32"),
  double: scalar("f64"),
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
  "cudaTextureObject_t": "ulonglong",
  "cudaSurfaceObject_t": "ulonglong",
  "__half": "half",
};

/** `float4` and the like; __half2 is the only vector of halves, and there is none of bool. */
const VECTOR = /^(?:(u?(?:char|short|int|long|longlong)|float|double)([1-4])|(?:__)?(half)(2))$/;

/** What a type of CUDA C++ is made of; undefined where it is no number and no vector of numbers. */
export function elementOf(type: string): Element | undefined {
  const single = named(type);
  if (single !== undefined) {
    const { size } = single.numbers;
    return { scalar: single, lanes: 1, size, align: size };
  }
  const [, base, count, half, two] = VECTOR.exec(type) ?? [];
  const scalar = named(base ?? half ?? "");
  if (scalar === undefined) return undefined;
  const lanes = Number(count ?? two);
  const size = scalar.numbers.size * lanes;
  // A vector of three is packed, and none is aligned to more than 16 bytes (vector_types.h).
  return { scalar, lanes, size, align: lanes === 3 ? scalar.numbers.size : Math.min(size, 16) };
}

function named(type: string): Scalar | undefined {
  const name = Object.hasOwn(SPELLINGS, type) ? SPELLINGS[type] : type;
  return Object.hasOwn(SCALARS, name) ? SCALARS[name as Name] : undefined;
}
