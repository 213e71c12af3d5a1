import { clang, type Target } from "../clang.ts";
import type { FieldType } from "../../layout.ts";
import type { Library } from "../library.ts";

/** The parts of a node of `clang -ast-dump=json` that are read. */
export interface Node {
  readonly id?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly type?: { readonly qualType: string; readonly desugaredQualType?: string };
  readonly variadic?: boolean;
  readonly isBitfield?: boolean;
  readonly tagUsed?: string;
  readonly completeDefinition?: boolean;
  /** A character's is a number. */
  readonly value?: string | number;
  readonly mangledName?: string;
  readonly storageClass?: string;
  readonly inline?: boolean;
  readonly isImplicit?: boolean;
  readonly scopedEnumTag?: string;
  readonly fixedUnderlyingType?: { readonly qualType: string };
  readonly ownedTagDecl?: { readonly id: string };
  readonly inner?: readonly Node[];
}

/** A type: as the header writes it, and with the outermost typedefs resolved. */
export interface CType {
  /** As written, e.g. `cl_mem`. */
  readonly written: string;
  /** Resolved, e.g. `struct _cl_mem *`. */
  readonly resolved: string;
}

/** A parameter of a function or a field of a struct. */
export interface Member {
  /** Its name; empty where the header gives none. */
  readonly name: string;
  /** Its type. */
  readonly type: CType;
  /** Whether it is a bit-field. */
  readonly bitField: boolean;
}

/** A function's prototype. */
export interface Prototype {
  /** What C calls it. */
  readonly name: string;
  /** What it returns. */
  readonly result: CType;
  /** Its parameters. */
  readonly parameters: readonly Member[];
  /** Whether `...` follows them. */
  readonly variadic: boolean;
}

/** What a C library's headers declare. */
export interface Declarations {
  /** The functions by name. */
  readonly functions: ReadonlyMap<string, Prototype>;
  /** The typedefs by name. */
  readonly typedefs: ReadonlyMap<string, CType>;
  /** The fields of the complete structs and unions, by tag (`_cl_buffer_region`) and by typedef of an unnamed one. */
  readonly records: ReadonlyMap<string, readonly Member[]>;
  /** What an enum is stored as; by tag and by typedef of an unnamed one. */
  readonly enums: ReadonlyMap<string, FieldType>;
  /** The names of all enumeration constants. */
  readonly enumerators: readonly string[];
}

/** Reads what a C library's headers declare, and `more` behind them, as clang understands them for a target. */
export async function readDeclarations(library: Library, target: Target, more = ""): Promise<Declarations> {
  const flags = ["-fsyntax-only", "-Xclang", "-ast-dump=json"];
  const root: Node = JSON.parse(await clang({ target, library }, flags, more));
  const functions = new Map<string, Prototype>();
  const typedefs = new Map<string, CType>();
  const records = new Map<string, readonly Member[]>();
  const enums = new Map<string, FieldType>();
  const enumerators: string[] = [];
  let previous: Node = {};
  for (const node of root.inner ?? []) {
    const owned = node.inner?.[0]?.ownedTagDecl?.id;
    if (node.kind === "TypedefDecl") {
      typedefs.set(node.name ?? "", cType(node));
      if (owned === previous.id && !previous.name) declareTag({ ...previous, name: node.name ?? "" });
    } else if (node.kind === "FunctionDecl") functions.set(node.name ?? "", prototype(node, typedefs));
    else if (node.name) declareTag(node);
    if (node.kind === "EnumDecl") enumerators.push(...(node.inner ?? []).flatMap((child) => child.name ?? []));
    previous = node;
  }
  return { functions, typedefs, records, enums, enumerators };

  function declareTag(node: Node): void {
    if (node.kind === "RecordDecl" && node.completeDefinition) records.set(node.name!, members(node, "FieldDecl"));
    if (node.kind === "EnumDecl") enums.set(node.name!, storageOf(node));
  }
}

function prototype(node: Node, typedefs: ReadonlyMap<string, CType>): Prototype {
  const type = cType(node).written; // e.g. `cl_mem (cl_context, size_t)`
  const written = type.slice(0, type.indexOf("(")).trim();
  return {
    name: node.name ?? "",
    result: { written, resolved: typedefs.get(written)?.resolved ?? written },
    parameters: members(node, "ParmVarDecl"),
    variadic: node.variadic === true,
  };
}

/** The children of a kind: `ParmVarDecl` for parameters, `FieldDecl` for fields. */
export function members(node: Node, kind: string): Member[] {
  const children = node.inner ?? [];
  return children.filter((child) => child.kind === kind).map((child) => {
    // A union without a name: its first member stands for it, by the name that C code uses.
    const union = child.name ? undefined : children[children.indexOf(child) - 1];
    const named = union?.tagUsed === "union" ? union.inner?.find(({ kind }) => kind === "FieldDecl") ?? child : child;
    return { name: named.name ?? "", type: cType(named), bitField: named.isBitfield === true };
  });
}

/** The type of a node. */
export function cType(node: Node): CType {
  const written = node.type?.qualType ?? "";
  return { written, resolved: node.type?.desugaredQualType ?? written };
}

/** A packed enum is as small as its constants allow. A function that returns one leaves the rest of the register open. */
function storageOf(node: Node): FieldType {
  const sign = hasNegative(node) ? "i" : "u";
  if (!node.inner?.some(({ kind }) => kind === "PackedAttr")) return `${sign}32`;
  let [least, most, next] = [0, 0, 0];
  for (const { kind, inner } of node.inner) {
    if (kind !== "EnumConstantDecl") continue;
    const value = Number(inner?.find(({ kind }) => kind === "ConstantExpr")?.value ?? next);
    [least, most, next] = [Math.min(least, value), Math.max(most, value), value + 1];
  }
  const fits = (bits: number) =>
    sign === "i" ? least >= -(2 ** (bits - 1)) && most < 2 ** (bits - 1) : most < 2 ** bits;
  return fits(8) ? `${sign}8` : fits(16) ? `${sign}16` : `${sign}32`;
}

/** Whether any constant of an enum is negative. */
export function hasNegative(node: Node): boolean {
  return `${node.value}`.startsWith("-") || (node.inner ?? []).some(hasNegative);
}
