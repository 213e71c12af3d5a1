import type { Target } from "../clang.ts";
import type { Library } from "../library.ts";
import type { ForeignFunction, Struct } from "../model.ts";
import { type Declarations, readDeclarations } from "./ast.ts";
import { askFields } from "./fields.ts";
import { readFunction } from "./functions.ts";
import { measure } from "./measure.ts";
import { tableFunctions } from "./table.ts";
import { type Candidate, enumerator } from "./select.ts";
import { askStruct } from "./structs.ts";

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
  const { table } = library;
  const declarations = await readDeclarations(library, target, table && await tableFunctions(library, table, target));
  return {
    functions: library.functions.map((entry) => (
      readFunction(library, typeof entry === "string" ? { name: entry } : entry, declarations)
    )),
    structs: await readStructs(library, target, declarations),
    enumerators: declarations.enumerators.map((name) => enumerator(name)),
  };
}

async function readStructs(library: Library, target: Target, declarations: Declarations): Promise<Struct[]> {
  const asked = library.structs.map((entry) => (
    typeof entry === "string" ? askStruct(entry, declarations) : askFields(entry, declarations)
  ));
  if (asked.length === 0) return [];
  const questions = asked.flatMap(({ questions }) => questions.map((value) => ({ type: "size_t", value })));
  const answers = (await measure(library, target, questions)).map(({ value }) => Number(value));
  return asked.map(({ questions, answered }) => answered(answers.splice(0, questions.length)));
}
