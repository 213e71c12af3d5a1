/**
 * What `deno doc` prints about the entry points: the names of their declarations, and the types of parameters and options.
 *
 * @module
 */
import config from "../../deno.json" with { type: "json" };

/** A type, as far as it is read here. */
interface Type {
  readonly kind: string;
  readonly value: unknown;
}

/** A declaration, or a member of one. */
export interface Documented {
  readonly jsDoc?: { readonly doc?: string; readonly tags?: readonly { readonly kind: string }[] };
  readonly accessibility?: "public" | "protected" | "private";
}

/** A parameter, or a property. */
interface Typed {
  readonly name: string;
  readonly tsType?: Type;
  /** A parameter with a default. */
  readonly left?: Typed;
  readonly kind?: string;
}

interface Signature {
  readonly params: readonly Typed[];
}

/** A method of a class. */
export interface Method extends Documented {
  readonly name: string;
  readonly kind: string;
  readonly functionDef: Signature;
}

/** One exported declaration. */
export interface Declaration extends Documented {
  readonly kind: string;
  readonly location: { readonly filename: string };
  readonly def?: Partial<Signature> & {
    readonly methods?: readonly Method[];
    readonly properties?: readonly Typed[];
    readonly extends?: readonly Type[] | string;
    readonly typeParams?: readonly unknown[];
    readonly tsType?: Type;
  };
}

/** The declarations of some entry points, by their names. */
export type Declarations = ReadonlyMap<string, readonly Declaration[]>;

/** What `deno doc --json` prints about all entry points. */
export async function documentation(): Promise<Declarations> {
  const root = new URL("../../", import.meta.url).pathname;
  const files = Object.values(config.exports).map((file) => `${root}${file}`);
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["doc", "--json", ...files] }).output();
  const { nodes }: {
    nodes: { [file: string]: { symbols: { name: string; declarations: Declaration[] }[] } };
  } = JSON.parse(new TextDecoder().decode(stdout));
  const symbols = Object.values(nodes).flatMap(({ symbols }) => symbols);
  const all = new Map<string, Declaration[]>();
  for (const { name, declarations } of symbols) { // two entry points may export the same name, for one declaration or for two
    all.set(name, [...all.get(name) ?? [], ...declarations]);
  }
  return all;
}

/** The values that a parameter or an option takes, as far as that is known. */
export interface Accepted {
  /** What `typeof` returns for them, and `"null"`. */
  readonly kinds: readonly string[];
  /** The strings among them, where they are few. */
  readonly words?: readonly string[] | undefined;
  /** The options in an object. */
  readonly fields?: Readonly<Record<string, Accepted>>;
}

/** A parameter of a public function or method; it takes anything if that is not known. */
export interface Parameter extends Partial<Accepted> {
  readonly name: string;
}

/** The parameters of each function and method, by its name; those of overloads, and of statics of the same name, side by side. */
export function parametersOf(all: Declarations): Record<string, Parameter[][]> {
  const found: Record<string, Parameter[][]> = {};
  const add = (name: string, { params }: Signature) =>
    void (found[name] ??= []).push(params.map((param) => ({
      name: (param.left ?? param).name,
      ...(param.kind === "rest" ? {} : acceptedBy((param.left ?? param).tsType, all)),
    })));
  for (const [name, declarations] of all) {
    for (const { kind, def } of declarations) {
      if (kind === "function") add(name, def as Signature);
      for (const method of kind === "class" ? def?.methods ?? [] : []) {
        if (method.kind === "method") add(`${name}.${method.name}`, method.functionDef);
      }
    }
  }
  return found;
}

/** Options nest fewer types than this. */
const DEEPEST = 8;

function acceptedBy(type: Type | undefined, all: Declarations, depth: number = 0): Accepted | undefined {
  if (type === undefined || depth > DEEPEST) return undefined;
  const { kind, value } = type;
  const inner = (one: unknown) => acceptedBy(one as Type, all, depth + 1);
  switch (kind) {
    case "keyword":
      return ["any", "unknown", "void"].includes(value as string) ? undefined : { kinds: [value as string] };
    case "literal":
      return literal(value as { readonly kind: string; readonly string?: string });
    case "union":
      return united((value as Type[]).map(inner));
    case "array":
    case "tuple":
    case "typeLiteral":
      return { kinds: ["object"] };
    case "fnOrConstructor":
      return { kinds: ["function"] };
    case "parenthesized":
      return inner(value);
    case "typeOperator":
      return inner((value as { readonly tsType: Type }).tsType);
    case "typeRef":
      return referred(value as { readonly typeName: string; readonly typeParams?: readonly Type[] }, all, depth);
  }
}

function literal({ kind, string }: { readonly kind: string; readonly string?: string }): Accepted {
  if (kind === "string") return { kinds: ["string"], words: [string!] };
  return { kinds: [kind === "template" ? "string" : kind === "bigInt" ? "bigint" : kind] };
}

function united(members: readonly (Accepted | undefined)[]): Accepted | undefined {
  if (!members.every((member) => member !== undefined)) return undefined;
  const strings = members.filter(({ kinds }) => kinds.includes("string"));
  const isFew = strings.length > 0 && strings.every(({ words }) => words !== undefined);
  const objects = members.filter(({ kinds }) => kinds.includes("object"));
  return {
    kinds: members.flatMap(({ kinds }) => kinds),
    ...(isFew ? { words: strings.flatMap(({ words }) => words!) } : {}),
    ...(objects.length === 1 && objects[0].fields !== undefined ? { fields: objects[0].fields } : {}),
  };
}

/** Kinds of declarations that are types. */
const TYPES = ["class", "interface", "typeAlias"];

/** Types that take what their parameter takes. */
const ALIKE = ["Readonly", "NonNullable", "Partial"];

function referred(
  { typeName, typeParams = [] }: { readonly typeName: string; readonly typeParams?: readonly Type[] },
  all: Declarations,
  depth: number,
): Accepted | undefined {
  if (ALIKE.includes(typeName)) return acceptedBy(typeParams[0], all, depth + 1);
  const [one, ...others] = all.get(typeName)?.filter(({ kind }) => TYPES.includes(kind)) ?? [];
  if (others.some(({ location }) => location.filename !== one.location.filename)) return undefined; // two of one name
  if (one === undefined) {
    return /^(\w+Array|Promise|AbortSignal|Record)$/.test(typeName) ? { kinds: ["object"] } : undefined;
  }
  if (one.kind === "typeAlias") return acceptedBy(one.def?.tsType, all, depth + 1);
  return { kinds: ["object"], ...(one.kind === "interface" ? { fields: fieldsOf(one, all, depth) } : {}) };
}

function fieldsOf({ def }: Declaration, all: Declarations, depth: number): Record<string, Accepted> {
  const inherited = [def?.extends ?? []].flat().map((type) => acceptedBy(type as Type, all, depth + 1)?.fields ?? {});
  const own = (def?.properties ?? []).flatMap(({ name, tsType }) => {
    const accepted = acceptedBy(tsType, all, depth + 1);
    return accepted === undefined ? [] : [[name, accepted] as const];
  });
  return Object.assign({}, ...inherited, Object.fromEntries(own));
}
