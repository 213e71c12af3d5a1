import type { FunctionEntry, Library } from "../library.ts";
import type { ForeignFunction } from "../model.ts";
import { ADDRESS, BUFFER, foreignType } from "../types.ts";
import type { Declarations, Member, Prototype } from "./ast.ts";
import { structOfWords, structType } from "./by_value.ts";

/** Says how a listed function crosses the FFI. */
export function readFunction(
  { byValue = [], byWords = {} }: Library,
  entry: FunctionEntry,
  declarations: Declarations,
): ForeignFunction {
  const prototype = declarations.functions.get(entry.name);
  if (prototype === undefined) throw new Error(`no header declares ${entry.name}`);
  if (prototype.variadic !== (entry.variadic !== undefined)) {
    throw new Error(
      `${entry.name}: the list has to say which arguments follow, for a variadic function and for no other`,
    );
  }
  const rest = Object.entries(entry.variadic ?? {}).map(([name, type]): Member => (
    { name, type: { written: type, resolved: declarations.typedefs.get(type)?.resolved ?? type }, bitField: false }
  ));
  const named = prototype.parameters.map((parameter, i) => ({ ...parameter, name: parameterName(parameter, i) }));
  for (const name of entry.address ?? []) {
    if (!named.some((parameter) => parameter.name === name)) throw new Error(`${entry.name} has no parameter ${name}`);
  }
  return {
    name: entry.as ?? entry.name,
    entry,
    symbol: entry.name,
    prototype: prototypeText(prototype, named),
    parameters: [...named, ...rest].map(({ name, type }) => {
      const written = type.written.replace(/^const (?!.*\*)/, ""); // of a copy, const says nothing to a caller
      if (byValue.includes(written)) return { name, foreign: structType(written, declarations) };
      if (Object.hasOwn(byWords, written)) return { name, foreign: structOfWords(written, byWords[written]) };
      const pointer = entry.address?.includes(name) ? ADDRESS : BUFFER;
      return { name, foreign: foreignType(`${entry.name}(${name})`, type, pointer, declarations) };
    }),
    result: foreignType(entry.name, prototype.result, ADDRESS, declarations),
  };
}

/** glibc's `__addr` is `addr` to its readers; of its `__new`, TypeScript keeps the word for itself. */
export function parameterName({ name }: Member, i: number): string {
  return name.replace(/^_+(?!new$)/, "") || `arg${i}`;
}

function prototypeText({ name, result, variadic }: Prototype, parameters: readonly Member[]): string {
  const list = parameters.map((parameter) => declarator(parameter.type.written, parameter.name));
  return declarator(result.written, `${name}(${[...list, ...variadic ? ["..."] : []].join(", ") || "void"})`);
}

/** A type and a name, as a declaration has them. */
export function declarator(type: string, name: string): string {
  if (type.includes("(*)")) return type.replace("(*)", `(*${name})`);
  return /[*&]$/.test(type) ? `${type}${name}` : `${type} ${name}`;
}
