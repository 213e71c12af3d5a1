import type { StructLayout } from "../../ffi/layout.ts";
import type { Library } from "../../ffi/generate/library.ts";
import { className } from "../../ffi/generate/read/cxx/names.ts";
import { structName } from "../../ffi/generate/read/structs.ts";

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
const SIZES: Record<StructLayout["fields"][string]["type"], number> = {
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
  pointer: 8,
};

/** Everything that the committed files say of a library's constants, error codes and structs. */
export async function claims(library: Library): Promise<Claim[]> {
  const module = await committed(library);
  const qualified = library.cxx ? await qualifiedNames(library) : new Map<string, string>();
  const constants = Object.entries(module)
    .filter((entry): entry is [string, number | bigint] => ["number", "bigint"].includes(typeof entry[1]))
    .filter(([name]) => name !== "NULL") // ours, not C's
    .map(([name, value]) => ({ expression: qualified.get(name) ?? name, value: BigInt(value) }));
  const errors = [...(module.ERROR_NAMES ?? []) as ReadonlyMap<number, string>]
    .map(([code, name]) => ({ expression: qualified.get(name) ?? name, value: BigInt(code) }));
  const structs = library.structs.flatMap((entry) => {
    if (typeof entry === "string") return structClaims(entry, module[structName(entry)] as StructLayout);
    const layout = module[entry.as ?? (library.cxx ? className : structName)(entry.type)] as StructLayout;
    return structClaims(
      entry.type,
      layout,
      Object.fromEntries(entry.fields.filter((field) => typeof field !== "string")),
    );
  });
  return [...constants, ...errors, ...structs];
}

/** What the committed comments say that C++ calls a constant: `MAT_MAGIC_VAL` → `cv::Mat::MAGIC_VAL`. */
async function qualifiedNames({ name: folder }: Library): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (const file of ["constants.ts", "errors.ts"]) {
    const url = new URL(`../../ffi/${folder}/${file}`, import.meta.url);
    const text = await Deno.readTextFile(url).catch(() => ""); // not every library has error codes
    for (const [, qualified, name] of text.matchAll(/`enum constant (\S+)` \*\/\nexport const (\w+)/g)) {
      names.set(name, qualified);
    }
  }
  return names;
}

/** What a layout says of a C or C++ type; `designators` are of those fields which C++ calls something else. */
export function structClaims(
  type: string,
  { size, align, fields }: StructLayout,
  designators: Readonly<Record<string, string>> = {},
): Claim[] {
  return [
    { expression: `sizeof(${type})`, value: BigInt(size) },
    { expression: `alignof(${type})`, value: BigInt(align) },
    ...Object.entries(fields).map(([name, field]) => [designators[name] ?? name, field] as const).flatMap((
      [designator, field],
    ) => [
      { expression: `offsetof(${type}, ${designator})`, value: BigInt(field.offset) },
      { expression: `sizeof(((${type} *) 0)->${designator})`, value: BigInt(SIZES[field.type]) },
    ]),
  ];
}
