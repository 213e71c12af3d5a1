import type { Target } from "../../clang.ts";
import type { Cxx, Library } from "../../library.ts";
import type { Read } from "../c.ts";
import { readCxxDeclarations } from "./ast.ts";
import { readCxxFunction } from "./functions.ts";
import { readClasses } from "./structs.ts";

/** Reads the functions, classes and enums of a C++ library. */
export async function readCxx(library: Library, cxx: Cxx, target: Target): Promise<Read> {
  const declarations = await readCxxDeclarations(library, cxx, target);
  return {
    functions: library.functions.map((entry) => (
      readCxxFunction(typeof entry === "string" ? { name: entry } : entry, declarations, cxx)
    )),
    structs: await readClasses(
      library,
      target,
      library.structs.map((entry) => {
        if (typeof entry === "string") throw new Error(`${entry}: the list has to say the fields of a C++ class`);
        return entry;
      }),
    ),
    enumerators: declarations.enumerators,
  };
}
