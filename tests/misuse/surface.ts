/**
 * The public methods: what can be reached from the entry points of programs, but for what `deno doc` says is protected or
 * for mappers, operations or backends.
 *
 * @module
 */
import config from "../../deno.json" with { type: "json" };
import { callable, type Exports } from "./watch.ts";

/** What `deno doc --json` says of a declaration or a member; what is read here of it. */
interface Documented {
  readonly name: string;
  readonly jsDoc?: { readonly doc?: string };
  readonly accessibility?: "public" | "protected" | "private";
}

/** One exported declaration. */
interface Declaration extends Omit<Documented, "name"> {
  readonly def?: { readonly methods?: readonly Documented[] };
}

/** The whole of it. */
interface Documentation {
  readonly nodes: {
    readonly [file: string]: {
      readonly symbols: readonly { readonly name: string; readonly declarations: readonly Declaration[] }[];
    };
  };
}

/** What the JSDoc of those classes and methods says which work without the checks that programs have. */
const MARK = /\bfor\s+(mappers|operations|backends)[.,:;]/i;

/** The entry point of backends: what it exports works without checks. */
const UNCHECKED = `${config.name}/backend`;

/** The names of the public methods of all entry points for programs. */
export async function publicMethods(entryPoints: Readonly<Record<string, Exports>>): Promise<string[]> {
  const excluded = await notForPrograms();
  const { [UNCHECKED]: _, ...forPrograms } = entryPoints;
  const names = new Set(Object.values(forPrograms).flatMap(callable));
  return [...names].filter((name) => !excluded.has(name) && !excluded.has(name.split(".")[0])).sort();
}

/** The names of classes, functions and methods that are protected, or carry the mark. */
async function notForPrograms(): Promise<Set<string>> {
  const root = new URL("../../", import.meta.url).pathname;
  const files = Object.values(config.exports).map((file) => `${root}${file}`);
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["doc", "--json", ...files] }).output();
  const { nodes }: Documentation = JSON.parse(new TextDecoder().decode(stdout));
  const marked = (of: Omit<Documented, "name">) => of.accessibility === "protected" || MARK.test(of.jsDoc?.doc ?? "");
  const excluded = new Set<string>();
  for (const { name, declarations } of Object.values(nodes).flatMap(({ symbols }) => symbols)) {
    for (const declaration of declarations) {
      if (marked(declaration)) excluded.add(name);
      for (const method of declaration.def?.methods ?? []) {
        if (marked(method)) excluded.add(`${name}.${method.name}`);
      }
    }
  }
  return excluded;
}
