/** How a field of a struct is stored. `usize` and every pointer take eight bytes: all our targets are 64-bit. */
export type FieldType = "u8" | "i8" | "u16" | "i16" | "u32" | "i32" | "u64" | "i64" | "usize" | "isize" | "f32" | "f64";

/** Where a field lies in its struct. */
export interface FieldLayout {
  /** C's `offsetof`, in bytes. */
  readonly offset: number;
  /** How it is stored. */
  readonly type: FieldType;
}

/** The layout of a C struct; it is the same on x86-64 and aarch64. */
export interface StructLayout {
  /** C's `sizeof`, in bytes. */
  readonly size: number;
  /** C's `_Alignof`, in bytes. */
  readonly align: number;
  /** The fields, in the order of their declaration. */
  readonly fields: Readonly<Record<string, FieldLayout>>;
}
