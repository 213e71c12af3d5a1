import type { FieldType } from "../../../layout.ts";
import { clang, type Target } from "../../clang.ts";
import type { Cxx, Library } from "../../library.ts";
import { cType, hasNegative, type Member, members, type Node } from "../ast.ts";
import { type Candidate, enumerator } from "../select.ts";
import { classPrefix } from "./names.ts";

/** A C++ function, or a member function. */
export interface CxxFunction {
  /** Its qualified name, e.g. `cv::Mat::create`. */
  readonly name: string;
  /** Its mangled name. */
  readonly symbol: string;
  /** Its type, e.g. `void (int, int, int) const`. */
  readonly type: string;
  /** Its parameters, without `this`. */
  readonly parameters: readonly Member[];
  /** What kind of function it is: `CXXMethodDecl`, for instance. */
  readonly kind: string;
  /** Whether it has no `this` though it is a member. */
  readonly isStatic: boolean;
}

/** What a C++ library's headers declare in its namespace. Templates are left out. */
export interface CxxDeclarations {
  /** The functions, by qualified name. */
  readonly functions: ReadonlyMap<string, readonly CxxFunction[]>;
  /** The mangled names of those that the headers define themselves: a library need not export them. */
  readonly inline: ReadonlySet<string>;
  /** What an enum is stored as; by its qualified name. */
  readonly enums: ReadonlyMap<string, FieldType>;
  /** The constants of enums. */
  readonly enumerators: readonly Candidate[];
}

/** Where a declaration stands: the qualified name, and what goes before the names of constants there. */
interface Scope {
  readonly name: string;
  readonly prefix: string;
}

const FUNCTIONS = ["FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXDestructorDecl"];

/** Reads what a C++ library's headers declare, as clang understands them for a target. */
export async function readCxxDeclarations(
  library: Library,
  { namespace }: Cxx,
  target: Target,
): Promise<CxxDeclarations> {
  const functions = new Map<string, CxxFunction[]>();
  const inline = new Set<string>();
  const enums = new Map<string, FieldType>();
  const enumerators: Candidate[] = [];
  // The filter goes by part of a name, so other things of like names come too.
  const flags = ["-fsyntax-only", "-Xclang", "-ast-dump=json", "-Xclang", `-ast-dump-filter=${namespace}`];
  for (const tree of trees(await clang({ target, library }, flags))) {
    if (tree.kind === "NamespaceDecl" && tree.name === namespace) walk(tree, { name: namespace, prefix: "" });
  }
  return { functions, inline, enums, enumerators };

  function walk(parent: Node, scope: Scope): void {
    for (const node of parent.inner ?? []) {
      const name = `${scope.name}::${node.name}`;
      if (node.kind === "EnumDecl") declareEnum(node, name, scope);
      else if (node.kind === "NamespaceDecl") walk(node, { name, prefix: "" });
      else if (node.kind === "LinkageSpecDecl") walk(node, scope); // extern "C"
      else if (node.kind === "CXXRecordDecl") walk(node, { name, prefix: classPrefix(node.name ?? "") });
      else if (FUNCTIONS.includes(node.kind ?? "")) declareFunction(node, name, parent);
    }
  }

  function declareEnum(node: Node, name: string, scope: Scope): void {
    const underlying = node.fixedUnderlyingType?.qualType ?? (hasNegative(node) ? "int" : "unsigned int");
    if (underlying === "int") enums.set(name, "i32");
    if (underlying === "unsigned int") enums.set(name, "u32");
    const inside = node.scopedEnumTag ? { name, prefix: scope.prefix + classPrefix(node.name ?? "") } : scope;
    for (const child of node.inner ?? []) {
      if (child.kind !== "EnumConstantDecl") continue;
      enumerators.push(enumerator(`${inside.prefix}${child.name}`, `${inside.name}::${child.name}`));
    }
  }

  function declareFunction(node: Node, name: string, parent: Node): void {
    const { mangledName: symbol, kind } = node;
    if (symbol === undefined || node.isImplicit) return;
    if (node.inline || node.inner?.some(({ kind }) => kind === "CompoundStmt")) inline.add(symbol);
    if (kind !== "FunctionDecl" && parent.kind !== "CXXRecordDecl") return; // a member that is defined elsewhere
    const overloads = functions.get(name) ?? [];
    if (overloads.some((other) => other.symbol === symbol)) return; // declared again
    const parameters = members(node, "ParmVarDecl");
    const isStatic = node.storageClass === "static";
    functions.set(name, [...overloads, { name, symbol, type: cType(node).written, parameters, kind: kind!, isStatic }]);
  }
}

/** The trees of a filtered dump, which prints one after the other. */
function trees(dump: string): Node[] {
  return dump.split(/(?<=^})\n/m).filter((text) => text !== "").map((text) => JSON.parse(text));
}
