/**
 * Which public methods a program calls: every function and method that can be reached from what an entry point exports
 * is wrapped. Only what the program calls itself counts, not what is called on its behalf.
 *
 * @module
 */
import { type Parameters, tryWrong } from "./wrong.ts";

/** A module's exports. */
export type Exports = Readonly<Record<string, unknown>>;

/** One public function: where it sits, and its name. */
interface Member {
  readonly name: string;
  readonly holder: object;
  readonly key: PropertyKey;
}

const names = new Set<string>();
const watched = new WeakMap<object, Map<PropertyKey, string>>();
let depth = 0;

/** The names of what was called so far. */
export function called(): ReadonlySet<string> {
  return new Set(names);
}

/** The names of all that can be called: `layout`, `Mapped.name`, `OpenCLContext.open`. */
export function callable(exports: Exports): string[] {
  const functions = Object.keys(exports).filter((name) => isFunction(exports[name]));
  return [...functions, ...membersOf(exports).map(({ name }) => name)];
}

/** Wraps methods where they are; returns the exports with their functions wrapped. Each gets wrong values first. */
export function watch<E extends Exports>(exports: E, parameters: Parameters): E {
  for (const { name, holder, key } of membersOf(exports)) {
    const known = watched.get(holder) ?? new Map<PropertyKey, string>();
    watched.set(holder, known);
    if (known.has(key)) continue; // another entry point has it too
    known.set(key, name);
    const property = Object.getOwnPropertyDescriptor(holder, key)!;
    const wrapped = { ...property };
    const counts = () => count(holder, key);
    if (typeof property.value === "function") wrapped.value = counted(property.value, counts, name, parameters);
    if (property.get !== undefined) wrapped.get = counted(property.get, counts);
    Object.defineProperty(holder, key, wrapped);
  }
  const functions = Object.entries(exports).map(([name, value]) =>
    [name, isFunction(value) ? counted(value, () => names.add(name), name, parameters) : value] as const
  );
  return Object.fromEntries(functions) as unknown as E;
}

/** A method that was called; with it the ones that it overrides. */
function count(holder: object, key: PropertyKey): void {
  for (let at: object | null = holder; at !== null; at = Object.getPrototypeOf(at)) {
    const name = watched.get(at)?.get(key);
    if (name !== undefined) names.add(name);
  }
}

// deno-lint-ignore ban-types -- whatever its type, it is called with what it was given
function counted<F extends Function>(
  wrapped: F,
  count: () => void,
  known: string = "",
  parameters: Parameters = {},
): F {
  const { name } = wrapped;
  const overloads = Object.hasOwn(parameters, known) ? parameters[known] : undefined;
  const stand = {
    [name](this: unknown, ...args: unknown[]): unknown {
      const isOwn = depth === 0;
      if (isOwn) count();
      depth++;
      try {
        const call = (given: readonly unknown[]) => Reflect.apply(wrapped, this, given);
        const wentWell = isOwn && overloads !== undefined ? tryWrong(known, overloads, call, args) : undefined;
        const result = call(args);
        wentWell?.();
        return result;
      } finally {
        depth--;
      }
    },
  };
  return stand[name] as unknown as F;
}

function membersOf(exports: Exports): Member[] {
  return Object.entries(exports).flatMap(([name, value]) => {
    if (typeof value !== "function" || isFunction(value)) return [];
    return [value.prototype, value].flatMap((holder: object) => methodsOf(name, holder));
  });
}

function methodsOf(owner: string, holder: object): Member[] {
  return Reflect.ownKeys(holder).filter((key) => {
    const { get, value } = Object.getOwnPropertyDescriptor(holder, key)!;
    return key !== "constructor" && (get !== undefined || typeof value === "function");
  }).map((key) => ({ name: `${owner}.${nameOf(key)}`, holder, key }));
}

/** As `deno doc` writes it: `[Symbol.dispose]`. */
function nameOf(key: PropertyKey): string {
  return typeof key === "symbol" ? `[${key.description}]` : String(key);
}

/** A function that is not a class. */
function isFunction(value: unknown): value is (...args: unknown[]) => unknown {
  if (typeof value !== "function") return false;
  return Object.getOwnPropertyDescriptor(value, "prototype")?.writable ?? true;
}
