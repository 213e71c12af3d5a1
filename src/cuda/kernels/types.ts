import { type Element, type Scalar, scalar, TypeTable } from "../../core/device/types.ts";
import { NUMBERS } from "../../core/layout/numbers.ts";

const SCALARS: { readonly [name: string]: Scalar } = {
  bool: { numbers: NUMBERS.u8.within(0n, 1n), dtypes: ["u8"], isBoolean: true },
  char: scalar("i8", "u8"), // its sign is implementation-defined in C
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
};

const SPELLINGS: { readonly [spelling: string]: string } = {
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

/** The types of CUDA C++. A vector of three is packed; the largest alignment is 16 bytes (vector_types.h). */
const TYPES = new TypeTable({
  scalars: SCALARS,
  spellings: SPELLINGS,
  // __half2 is the only vector of halves, and bool has no vector.
  vector: /^(?:__)?((?:u?(?:char|short|int|long|longlong)|float|double)(?=[1-4]$)|half(?=2$))(\d)$/,
  padsThree: false,
  mostAlign: 16,
});

export function elementOf(type: string): Element | undefined {
  return TYPES.element(type);
}
