import type { FieldType } from "../layout.ts";
import type { CType, Declarations } from "./read/ast.ts";

/** How a C type crosses the FFI, and what TypeScript calls it. */
export interface ForeignType {
  /** Deno's name of it. */
  readonly native: FieldType | "buffer" | "void";
  /** TypeScript's. */
  readonly type: string;
  /** For a handle: C's name of it. */
  readonly handle?: string;
}

/** A pointer that is passed as a number. */
export const ADDRESS: ForeignType = { native: "u64", type: "Address" };

/** A pointer behind which JavaScript memory stands. */
export const BUFFER: ForeignType = { native: "buffer", type: "BufferSource | null" };

/** Plain `char` is missing on purpose: it is signed on x86-64 and unsigned on aarch64. */
const SCALARS: Readonly<Record<string, FieldType>> = {
  "_Bool": "u8",
  "bool": "u8",
  "signed char": "i8",
  "unsigned char": "u8",
  "short": "i16",
  "unsigned short": "u16",
  "int": "i32",
  "unsigned int": "u32",
  "long": "i64",
  "unsigned long": "u64",
  "long long": "i64",
  "unsigned long long": "u64",
  "float": "f32",
  "double": "f64",
};

/**
 * Says how the C type of `where` crosses the FFI; `pointer` is what a pointer becomes unless it points to an opaque
 * struct (a handle) or to a function (an address).
 */
export function foreignType(
  where: string,
  type: CType,
  pointer: ForeignType,
  declarations: Declarations,
): ForeignType {
  const resolved = unqualified(type);
  if (resolved === "void") return { native: "void", type: "void" };
  if (resolved.includes("(*)(")) return ADDRESS;
  if (resolved.endsWith("*")) {
    const opaque = resolved.match(/^struct (\w+) ?\*$/)?.[1];
    if (opaque === undefined || declarations.records.has(opaque)) return pointer;
    const handle = declarations.typedefs.has(type.written) ? type.written : opaque;
    return { native: "u64", type: pascalCase(handle), handle };
  }
  return scalarType(type, declarations.enums) ?? refuse(where, type);
}

/** The type of a number or an enum, of which `enums` says whether it is signed. */
export function scalarType(type: CType, enums: ReadonlyMap<string, boolean>): ForeignType | undefined {
  const resolved = unqualified(type);
  const native = type.written === "size_t" ? "usize" : SCALARS[resolved] ?? enumType(resolved, enums);
  return native && scalar(native);
}

/** A number that crosses as Deno's `native`. */
export function scalar(native: FieldType): ForeignType {
  return { native, type: /^[ui](64|size)$/.test(native) ? "bigint" : "number" };
}

/** Ends the generator: nothing is known of how `type` is passed by value. */
export function refuse(where: string, type: CType): never {
  const names = [...new Set([type.written, unqualified(type)])].join(", which is ");
  throw new Error(
    `${where}: no FFI type for ${names} (structs, arrays and plain char by value are not supported)`,
  );
}

/** A resolved type without `const` and its like. */
export function unqualified({ resolved }: CType): string {
  return resolved.replace(/\b(const|volatile|restrict)\b/g, "").replace(/\s+/g, " ").trim();
}

function enumType(resolved: string, enums: ReadonlyMap<string, boolean>): FieldType | undefined {
  const signed = enums.get(resolved.replace(/^enum /, ""));
  return signed === undefined ? undefined : signed ? "i32" : "u32";
}

/** `cl_mem` → `ClMem`. */
export function pascalCase(name: string): string {
  return name.replace(/(?:^|_)([a-zA-Z])/g, (_, letter: string) => letter.toUpperCase());
}
