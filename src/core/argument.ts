import { ArgumentError } from "./errors.ts";

/** So many characters of a value a message shows. */
const MOST_SHOWN = 200;

/** What would break a message's line, or end it: control characters and Unicode's own line ends. */
// deno-lint-ignore no-control-regex -- they are what it is for
const UNPRINTABLE = /[\0-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]/g;

/**
 * A value in words, for messages. A long one is cut, and line breaks in it are escaped: a text may have hundreds of
 * megabytes, and V8 ends the process over a message that is longer than a string can be. None of the value's own code runs.
 */
export function shown(value: unknown): string {
  if (typeof value === "function") return "a function";
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value === "bigint" && BigInt.asIntN(128, value) !== value) return "a bigint beyond 128 bits";
  if (typeof value === "symbol") return `Symbol(${shown(value.description ?? "")})`;
  const text = String(value);
  const line = text.slice(0, MOST_SHOWN).toWellFormed().replaceAll(UNPRINTABLE, escaped);
  return text.length <= MOST_SHOWN ? line : `${line}… (${text.length} characters)`;
}

/** An object's properties, for messages: `{"platform":"rusticl"}`. They are cut before V8 makes JSON of them. */
export function shownFields(fields: object): string {
  return JSON.stringify(fields, (_, value) => typeof value === "string" ? shown(value) : value);
}

function escaped(character: string): string {
  if (character === "\n") return "\\n";
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
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
    if (!Object.hasOwn(names, name) && Object.hasOwn(given, name)) (others ??= []).push(shown(name));
  }
  return others && shown(others.join(", "));
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
