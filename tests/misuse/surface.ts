/**
 * The public methods: what can be reached from the entry points of programs, but for what `deno doc` says is protected,
 * internal, or for mappers, operations or backends.
 *
 * @module
 */
import config from "../../deno.json" with { type: "json" };
import { type Declarations, documentation, type Documented, type Parameter, parametersOf } from "./documentation.ts";
import { callable, type Exports } from "./watch.ts";

/** What the JSDoc of those classes and methods says which work without the checks that programs have. */
const MARK = /\bfor\s+(mappers|operations|backends)[.,:;]/i;

/** The entry point of backends: what it exports works without checks. */
const UNCHECKED = `${config.name}/backend`;

/** The names of the public methods of all entry points for programs. */
export async function publicMethods(entryPoints: Readonly<Record<string, Exports>>): Promise<string[]> {
  return methodsIn(entryPoints, await documentation());
}

/** The parameters of those methods. */
export async function publicParameters(
  entryPoints: Readonly<Record<string, Exports>>,
): Promise<Readonly<Record<string, readonly Parameter[][]>>> {
  const all = await documentation();
  const parameters = parametersOf(all);
  const names = methodsIn(entryPoints, all).filter((name) => Object.hasOwn(parameters, name));
  return Object.fromEntries(names.map((name) => [name, parameters[name]]));
}

function methodsIn(entryPoints: Readonly<Record<string, Exports>>, all: Declarations): string[] {
  const excluded = notForPrograms(all);
  const { [UNCHECKED]: _, ...forPrograms } = entryPoints;
  const names = new Set(Object.values(forPrograms).flatMap(callable));
  return [...names].filter((name) => !excluded.has(name) && !excluded.has(name.split(".")[0])).sort();
}

/** The names of classes, functions and methods that are protected, internal, or carry the mark. */
function notForPrograms(all: Declarations): Set<string> {
  const marked = ({ accessibility, jsDoc: { doc = "", tags = [] } = {} }: Documented) =>
    accessibility === "protected" || MARK.test(doc) || tags.some(({ kind }) => kind === "internal");
  const excluded = new Set<string>();
  for (const [name, declarations] of all) {
    for (const declaration of declarations) {
      if (marked(declaration)) excluded.add(name);
      for (const method of declaration.def?.methods ?? []) {
        if (marked(method)) excluded.add(`${name}.${method.name}`);
      }
    }
  }
  return excluded;
}
