import type { Cxx, FunctionEntry } from "../../library.ts";
import type { ForeignFunction } from "../../model.ts";
import { ADDRESS, BUFFER, type ForeignType, refuse, scalar, scalarType, unqualified } from "../../types.ts";
import type { CType, Member } from "../ast.ts";
import { declarator, parameterName } from "../functions.ts";
import type { CxxDeclarations, CxxFunction } from "./ast.ts";
import { functionName } from "./names.ts";

type Parameters = ForeignFunction["parameters"];

/** Says how a listed C++ function crosses the FFI: what C++ passes unseen becomes parameters of their own. */
export function readCxxFunction(entry: FunctionEntry, declarations: CxxDeclarations, cxx: Cxx): ForeignFunction {
  const found = overload(entry, declarations);
  const { symbol, type, kind, isStatic } = found;
  if (declarations.inline.has(symbol)) throw new Error(`${entry.name} is inline: no library has to export it`);

  const named = found.parameters.map((parameter, i) => ({ ...parameter, name: parameterName(parameter, i) }));
  for (const name of entry.buffer ?? []) {
    if (!named.some((parameter) => parameter.name === name)) throw new Error(`${entry.name} has no parameter ${name}`);
  }
  const written = type.slice(0, type.indexOf("(")).trim();
  const result = foreignType({ written, resolved: written });
  if ((result === undefined) !== (entry.sret === true)) {
    throw new Error(`${entry.name} returns ${written}: the list has to say sret for an object, and for nothing else`);
  }
  const hidden: Parameters = [
    ...result === undefined ? [{ name: "result", foreign: ADDRESS }] : [],
    ...kind === "FunctionDecl" || isStatic ? [] : [{ name: "self", foreign: ADDRESS }],
  ];
  return {
    name: entry.as ?? functionName(entry.name, cxx),
    entry,
    symbol,
    prototype: prototypeText(found, written, named),
    parameters: [
      ...hidden,
      ...named.map(({ name, type }) => ({ name, foreign: foreignType(type, name) ?? refuse(entry.name, type) })),
    ],
    result: result ?? { native: "void", type: "void" },
  };

  /** How a type crosses; undefined for an object by value. */
  function foreignType(type: CType, name?: string): ForeignType | undefined {
    const resolved = unqualified(type);
    if (resolved === "void") return { native: "void", type: "void" };
    if (/[*&]$/.test(resolved)) return name !== undefined && entry.buffer?.includes(name) ? BUFFER : ADDRESS;
    return cxx.inRegister.includes(resolved) ? scalar("u64") : scalarType(type, declarations.enums);
  }
}

/** The one function that an entry means. */
function overload({ name, parameters }: FunctionEntry, { functions }: CxxDeclarations): CxxFunction {
  const all = functions.get(name);
  if (all === undefined) throw new Error(`no header declares ${name}`);
  const fitting = all.filter((one) =>
    parameters === undefined || typesOf(one) === withoutNamespaces(parameters.join(", "))
  );
  if (fitting.length === 1) return fitting[0];
  throw new Error(`${name}: the list has to say which: ${all.map((one) => `(${typesOf(one)})`).join(", ")}`);
}

function typesOf({ parameters }: CxxFunction): string {
  return withoutNamespaces(parameters.map(({ type }) => type.written).join(", "));
}

/** Clang does not always write them. */
function withoutNamespaces(types: string): string {
  return types.replace(/\b\w+::/g, "");
}

function prototypeText({ name, kind, type, isStatic }: CxxFunction, result: string, named: readonly Member[]): string {
  const list = named.map((parameter) => declarator(parameter.type.written, parameter.name)).join(", ");
  const call = `${name}(${list})`;
  if (kind === "CXXConstructorDecl" || kind === "CXXDestructorDecl") return call;
  return `${isStatic ? "static " : ""}${declarator(result, call)}${type.endsWith(" const") ? " const" : ""}`;
}
