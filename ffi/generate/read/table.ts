import { clang, type Target } from "../clang.ts";
import type { Library } from "../library.ts";

/** A field of a struct that points to a function: what it returns, its name, and its parameters. */
const FIELD = /^([^(]+)\(\s*\*\s*(\w+)\s*\)\s*(\(.*\))/s;

/**
 * Declarations of the functions that a struct points to, as the preprocessed headers write them. Clang's syntax tree has
 * the types of such fields alone, and not the names of the parameters.
 */
export async function tableFunctions(library: Library, struct: string, target: Target): Promise<string> {
  const text = await clang({ target, library }, ["-E", "-P"]);
  const [, body] = new RegExp(`\\bstruct ${struct} \\{(.*?)\\n\\};`, "s").exec(text) ?? [];
  if (body === undefined) throw new Error(`no header declares the fields of struct ${struct}`);
  const fields = body.split(";").map((field) => FIELD.exec(field.trim()));
  return fields.map((field) => field ? `${field[1]} ${field[2]}${field[3]};\n` : "").join("");
}
