import type { FieldType, StructLayout } from "../../ffi/layout.ts";
import type { Library } from "../../ffi/generate/library.ts";

/** Something that a committed file says about C: an integer constant expression and its value. */
export interface Claim {
  /** The C expression. */
  readonly expression: string;
  /** What the committed file says it is. */
  readonly value: bigint;
}

/** The committed module of a library. */
export async function committed(library: Library): Promise<Record<string, unknown>> {
  return await import(new URL(`../../ffi/${library.name}/mod.ts`, import.meta.url).href);
}

/** Bytes of a field. */
const SIZES: Record<FieldType, number> = {
  u8: 1,
  i8: 1,
  u16: 2,
  i16: 2,
  u32: 4,
  i32: 4,
  u64: 8,
  i64: 8,
  usize: 8,
  isize: 8,
  f32: 4,
  f64: 8,
};

/** Everything that the committed files say of a library's constants, error codes and structs. */
export async function claims(library: Library): Promise<Claim[]> {
  const module = await committed(library);
  const constants = Object.entries(module)
    .filter((entry): entry is [string, number | bigint] => ["number", "bigint"].includes(typeof entry[1]))
    .filter(([name]) => name !== "NULL") // ours, not C's
    .map(([expression, value]) => ({ expression, value: BigInt(value) }));
  const errors = [...(module.ERROR_NAMES ?? []) as ReadonlyMap<number, string>]
    .map(([code, expression]) => ({ expression, value: BigInt(code) }));
  const structs = library.structs.flatMap((type) => (
    structClaims(type, module[type.replace(/^struct /, "")] as StructLayout)
  ));
  return [...constants, ...errors, ...structs];
}

/** What a layout says of a C type. */
export function structClaims(type: string, { size, align, fields }: StructLayout): Claim[] {
  return [
    { expression: `sizeof(${type})`, value: BigInt(size) },
    { expression: `_Alignof(${type})`, value: BigInt(align) },
    ...Object.entries(fields).flatMap(([name, field]) => [
      { expression: `offsetof(${type}, ${name})`, value: BigInt(field.offset) },
      { expression: `sizeof(((${type} *) 0)->${name})`, value: BigInt(SIZES[field.type]) },
    ]),
  ];
}
