import type { Address } from "./address.ts";

/** How a field of a struct is stored. `usize` and every pointer take eight bytes: all our targets are 64-bit. */
export type FieldType = "u8" | "i8" | "u16" | "i16" | "u32" | "i32" | "u64" | "i64" | "usize" | "isize" | "f32" | "f64";

/** A field that is read by its layout alone also says that it is an address. */
type LaidType = FieldType | "pointer";

/** Where a field lies in its struct. */
export interface FieldLayout {
  /** C's `offsetof`, in bytes. */
  readonly offset: number;
  /** How it is stored. */
  readonly type: LaidType;
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

/** What a field holds, as JavaScript has it. */
export type FieldValue<T extends LaidType> = T extends "pointer" ? Address
  : T extends "u64" | "i64" | "usize" | "isize" ? bigint
  : number;

/** The values of a struct's fields. */
export type ValuesOf<L extends StructLayout> = {
  -readonly [F in keyof L["fields"]]: FieldValue<L["fields"][F]["type"]>;
};
