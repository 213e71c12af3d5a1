import { type Element, scalar, TypeTable } from "./types.ts";

/** The size of the largest type, a `long16` or `double16`, in bytes: the greatest alignment of a type. */
export const LARGEST_TYPE = 128;

/** The types of OpenCL C (6.3.1). A vector is aligned to its size; a vector of three takes the room of four (6.3.5). */
const TYPES = new TypeTable({
  scalars: {
    char: scalar("i8"),
    uchar: scalar("u8"),
    short: scalar("i16"),
    ushort: scalar("u16"),
    int: scalar("i32"),
    uint: scalar("u32"),
    long: scalar("i64"),
    ulong: scalar("u64"),
    half: scalar("f16"),
    float: scalar("f32"),
    double: scalar("f64"),
  },
  vector: /^([a-z]+)(2|3|4|8|16)$/,
  padsThree: true,
  mostAlign: LARGEST_TYPE,
});

/** The number or vector that a type of OpenCL C is; undefined for any other type. */
export function elementOf(type: string): Element | undefined {
  return TYPES.element(type.replace(/^(?:const |volatile |restrict )*/, "").replace("unsigned ", "u"));
}
