import type { FieldType } from "../layout.ts";
import type { CType, Declarations } from "./read/ast.ts";

/** How a C type crosses the FFI, and what TypeScript calls it. */
export interface ForeignType {
  /** Deno's name of it. */
  readonly native: FieldType | "buffer" | "void" | "struct";
  /** TypeScript's. */
  readonly type: string;
  /** For a handle: C's name of it. */
  readonly handle?: string;
  /** For a struct by value: as C writes it, its name, and what it holds. */
  readonly struct?: { readonly type: string; readonly name: string; readonly holds: readonly FieldType[] };
}

/** A pointer that is passed as a number. */
export const ADDRESS: ForeignType = { native: "u64", type: "Address" };

/** A pointer behind which JavaScript memory stands. */
export const BUFFER: ForeignType = { native: "buffer", type: "BufferSource | null" };

/** Plain `char` is missing on purpose: it is signed on x86-64 and unsigned on aarch64. */
export const SCALARS: Readonly<Record<string, FieldType>> = {
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

/** glibc's unions of pointers to every kind of socket address: C passes them as the pointer that they hold. */
const TRANSPARENT_UNIONS: readonly string[] = ["__SOCKADDR_ARG", "__CONST_SOCKADDR_ARG"];

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
  if (TRANSPARENT_UNIONS.includes(type.written)) return pointer;
  if (resolved === "void") return { native: "void", type: "void" };
  if (resolved.includes("(*)(")) return ADDRESS;
  if (resolved.endsWith("*")) {
    const opaque = pointee(resolved);
    if (opaque === undefined || declarations.records.has(opaque)) return pointer;
    return handleType(opaque, declarations);
  }
  return scalarType(type, declarations.enums) ?? refuse(where, type);
}

/**
 * A pointer to an opaque struct, by the first name that the headers give it: a pointer to `const` (`cudaArray_const_t`)
 * is the same handle.
 */
export function handleType(opaque: string, { typedefs }: Declarations): ForeignType {
  const [handle] = [...typedefs].find(([, type]) => pointee(unqualified(type)) === opaque) ?? [opaque];
  return { native: "u64", type: pascalCase(handle), handle };
}

/** The tag of the struct that a resolved pointer points to. */
export function pointee(resolved: string): string | undefined {
  return resolved.match(/^struct (\w+) ?\*$/)?.[1];
}

/** The type of a number or an enum, of which `enums` says what it is stored as. */
export function scalarType(type: CType, enums: ReadonlyMap<string, FieldType>): ForeignType | undefined {
  const resolved = unqualified(type);
  const native = type.written === "size_t" ? "usize" : SCALARS[resolved] ?? enums.get(resolved.replace(/^enum /, ""));
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
    `${where}: no FFI type for ${names} (arrays and plain char by value are not supported; a struct is where its list says so)`,
  );
}

/** A resolved type without `const` and its like. */
export function unqualified({ resolved }: CType): string {
  return resolved.replace(/\b(const|volatile|restrict)\b/g, "").replace(/\s+/g, " ").trim();
}

/** `cl_mem` → `ClMem`, `cudaStream_t` → `CudaStream`. */
export function pascalCase(name: string): string {
  return name.replace(/_t$/, "").replace(/(?:^|_)([a-zA-Z])/g, (_, letter: string) => letter.toUpperCase());
}
