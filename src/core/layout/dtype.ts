/**
 * The element types: unsigned, signed and floating, by their size in bits. An element of a tuple, because the compiler's
 * messages and an editor's hints show its values then, and not this name.
 */
export type DType = ["u8", "i8", "u16", "i16", "f16", "u32", "i32", "f32", "u64", "i64", "f64"][number];

/** The typed array that shows a dtype's elements. */
export interface TypedArrays {
  /** 8-bit unsigned. */
  u8: Uint8Array<ArrayBuffer>;
  /** 8-bit signed. */
  i8: Int8Array<ArrayBuffer>;
  /** 16-bit unsigned. */
  u16: Uint16Array<ArrayBuffer>;
  /** 16-bit signed. */
  i16: Int16Array<ArrayBuffer>;
  /** IEEE 754 half. */
  f16: Float16Array<ArrayBuffer>;
  /** 32-bit unsigned. */
  u32: Uint32Array<ArrayBuffer>;
  /** 32-bit signed. */
  i32: Int32Array<ArrayBuffer>;
  /** IEEE 754 single. */
  f32: Float32Array<ArrayBuffer>;
  /** 64-bit unsigned. */
  u64: BigUint64Array<ArrayBuffer>;
  /** 64-bit signed. */
  i64: BigInt64Array<ArrayBuffer>;
  /** IEEE 754 double. */
  f64: Float64Array<ArrayBuffer>;
}

/** Any of the typed arrays that a view can be. */
export type TypedArray = TypedArrays[DType];

/** The dtype of a typed array's elements. */
export type DTypeOf<A extends TypedArray> = { [D in DType]: A extends TypedArrays[D] ? D : never }[DType];

/** A typed array's constructor, as far as views need it. */
export interface TypedArrayConstructor<A extends TypedArray = TypedArray> {
  /** The class's name, for messages. */
  readonly name: string;
  /** Bytes an element. */
  readonly BYTES_PER_ELEMENT: number;
  /** A view over a part of a buffer. */
  new (buffer: ArrayBuffer, byteOffset?: number, length?: number): A;
}

export const TYPED_ARRAYS: { readonly [D in DType]: TypedArrayConstructor<TypedArrays[D]> } = {
  u8: Uint8Array,
  i8: Int8Array,
  u16: Uint16Array,
  i16: Int16Array,
  f16: Float16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  u64: BigUint64Array,
  i64: BigInt64Array,
  f64: Float64Array,
};

export function sizeOf(dtype: DType): number {
  return TYPED_ARRAYS[dtype].BYTES_PER_ELEMENT;
}

/** The dtype whose elements this typed array shows; undefined for a DataView and for clamped bytes. */
export function dtypeOf(array: ArrayBufferView): DType | undefined {
  for (const dtype in TYPED_ARRAYS) {
    if (array instanceof TYPED_ARRAYS[dtype as DType]) return dtype as DType;
  }
  return undefined;
}

/** True for a view of a dtype's elements, and for raw bytes: a Uint8Array, clamped bytes, a DataView. */
export function showsDtype(array: ArrayBufferView, dtype: DType): boolean {
  const shown = dtypeOf(array) ?? "u8";
  return shown === dtype || shown === "u8";
}
