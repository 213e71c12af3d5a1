import type { Target } from "../clang.ts";
import type { Library } from "../library.ts";
import type { ForeignFunction, Struct } from "../model.ts";
import { readDeclarations } from "./ast.ts";
import { readFields } from "./fields.ts";
import { readFunction } from "./functions.ts";
import { type Candidate, enumerator } from "./select.ts";
import { readStruct } from "./structs.ts";

/** What is read in another way of C than of C++. */
export interface Read {
  /** The listed functions. */
  readonly functions: readonly ForeignFunction[];
  /** The listed structs. */
  readonly structs: readonly Struct[];
  /** All constants of enums. */
  readonly enumerators: readonly Candidate[];
}

/** Reads the functions, structs and enums of a C library. */
export async function readC(library: Library, target: Target): Promise<Read> {
  const declarations = await readDeclarations(library, target);
  return {
    functions: library.functions.map((entry) => (
      readFunction(library, typeof entry === "string" ? { name: entry } : entry, declarations)
    )),
    structs: await Promise.all(library.structs.map((entry) => (
      typeof entry === "string"
        ? readStruct(library, target, entry, declarations)
        : readFields(library, target, entry, declarations)
    ))),
    enumerators: declarations.enumerators.map((name) => enumerator(name)),
  };
}
