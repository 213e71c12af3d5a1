import { ArgumentError } from "./errors.ts";

/** A value in words; whatever it is, none of its own code runs. */
export function shown(value: unknown): string {
  if (typeof value === "function") return "a function";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** What was given as an object: its properties may be read. @throws {ArgumentError} where it is none. */
export function object<T>(given: T, argument: string): T & object {
  if (typeof given === "object" && given !== null) return given;
  throw new ArgumentError(`${argument}: ${shown(given)} is no object.`, { api: "core", argument });
}

/** The names of an object's properties: exactly those of its type. */
export type Names<T> = { readonly [N in keyof T]-?: unknown };

/**
 * What was given as options. A name that is none of them is an error: a misspelt option would be passed over in silence.
 *
 * @throws {ArgumentError} for what is no object, and for other names.
 */
export function optionsIn<T extends object>(given: T, names: Names<T>, argument: string = "options"): T {
  const unknown = otherNames(object(given, argument), names);
  if (unknown === undefined) return given;
  throw new ArgumentError(`${argument}: there is no ${unknown}.`, {
    api: "core",
    argument,
    hint: `Use ${Object.keys(names).join(", ")}.`,
  });
}

/** The names of an object's own properties that are none of these; undefined where there are no such. */
export function otherNames(given: object, names: object): string | undefined {
  let others: string[] | undefined;
  for (const name in given) { // Object.keys() makes an array, at every launch
    if (!Object.hasOwn(names, name) && Object.hasOwn(given, name)) (others ??= []).push(name);
  }
  return others?.join(", ");
}

/** A class that knows its own objects. */
export type Maker<T> = (abstract new (...args: never[]) => T) & {
  /** True for what its constructor has made. */
  owns(value: object): boolean;
};

/** Is a value of a class? A proxy of such an object is none, nor is what only inherits from one. */
export function isMade<T>(value: unknown, type: Maker<T>): value is T {
  return value instanceof type && type.owns(value as object);
}
