import { ArgumentError } from "./errors.ts";

const MAX_SHOWN = 200;

/** Characters that would break a message's line: control characters and Unicode's line ends. */
// deno-lint-ignore no-control-regex -- it is about them
const UNPRINTABLE = /[\0-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]/g;

/**
 * A value in words, for messages. A long value is cut, and its line breaks are escaped: a text may have hundreds of
 * megabytes, and V8 ends the process when a message is longer than a string can be.
 */
export function shown(value: unknown): string {
  if (typeof value === "function" || (typeof value === "object" && value !== null)) return aKind(value);
  if (typeof value === "bigint" && BigInt.asIntN(128, value) !== value) return "a bigint beyond 128 bits";
  if (typeof value === "symbol") return `Symbol(${shown(value.description ?? "")})`;
  const text = String(value);
  const line = text.slice(0, MAX_SHOWN).toWellFormed().replaceAll(UNPRINTABLE, escaped);
  return text.length <= MAX_SHOWN ? line : `${line}… (${text.length} characters)`;
}

/** A kind of value with its article: `a string`, `an OpenCLTensor`; `null` and `undefined` have none. */
export function withArticle(kind: string): string {
  if (kind === "null" || kind === "undefined") return kind;
  return `${/^[aeio]/i.test(kind) ? "an" : "a"} ${kind}`;
}

export function aKind(value: unknown): string {
  return withArticle(kindOf(value));
}

function kindOf(value: unknown): string {
  if (value === null || typeof value !== "object") return value === null ? "null" : typeof value;
  try {
    const { name } = value.constructor;
    return typeof name === "string" && name !== "" ? shown(name) : "object";
  } catch {
    return "object"; // it has no constructor, or a getter of the program's that throws
  }
}

/** A value as a program writes it, for messages: {@link shown}, with strings in quotes. */
export function literal(value: unknown): string {
  return typeof value === "string" ? `"${shown(value)}"` : shown(value);
}

/** The error of an argument that has another value than expected: `order: expected "in-order", got "fifo".` */
export function unexpected(argument: string, expected: string, given: unknown): ArgumentError {
  return new ArgumentError(`${argument}: expected ${expected}, got ${literal(given)}.`, { api: "core", argument });
}

/** An object's properties, for messages: `{"platform":"rusticl"}`. They are cut before V8 makes JSON of them. */
export function shownFields(fields: object): string {
  return JSON.stringify(fields, (_, value) => typeof value === "string" ? shown(value) : value);
}

function escaped(character: string): string {
  if (character === "\n") return "\\n";
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

export function object<T>(given: T, argument: string): T & object {
  if (typeof given === "object" && given !== null) return given;
  throw unexpected(argument, "an object", given);
}

/** What a parameter of options is where a program gives none: there is nothing to check. */
export const NO_OPTIONS: Readonly<Record<string, never>> = {};

export type Names<T> = { readonly [N in keyof T]-?: unknown };

/**
 * A misspelt option would be ignored in silence; so would an object of a class without any of the names, such as an
 * AbortSignal in place of `{ signal }`. @throws {ArgumentError} if it is not an object of options, or has an unknown
 * name.
 */
export function optionsIn<T extends object>(given: T, names: Names<T>, argument: string = "options"): T {
  if (given === NO_OPTIONS) return given;
  if (!isPlain(object(given, argument)) && !hasAny(given, names)) {
    throw unexpected(argument, `{ ${Object.keys(names).join(", ")} }`, given);
  }
  const unknown = otherNames(given, names);
  if (unknown === undefined) return given;
  throw unknownProperty(unknown, names, argument);
}

function hasAny(given: object, names: object): boolean {
  return Object.keys(names).some((name) => Object.hasOwn(given, name));
}

function unknownProperty(unknown: string, names: object, argument: string): ArgumentError {
  const known = Object.keys(names).join(", ");
  const hint = known === "" ? "Leave it out: there are no options." : `Use ${known}.`;
  return new ArgumentError(`${argument}: unknown property ${unknown}.`, { api: "core", argument, hint });
}

/** True for an object that no class has made, of this realm or another; it may inherit from one that holds defaults. */
export function isPlain(given: object): boolean {
  const { constructor } = given;
  return constructor === Object || typeof constructor !== "function" || constructor.name === "Object";
}

/** The names of an object's own properties that are not among `names`; undefined if all are. */
export function otherNames(given: object, names: object): string | undefined {
  let others: string[] | undefined;
  for (const name in given) { // Object.keys() makes an array, at every launch
    if (!Object.hasOwn(names, name) && Object.hasOwn(given, name)) (others ??= []).push(shown(name));
  }
  return others && shown(others.join(", "));
}

/** A program that passes more has made a mistake. */
export type Maker<T> = {
  /** Its name, for messages. */
  readonly name: string;
  /** What it makes. */
  readonly prototype: T;
  /** What `instanceof` asks. */
  [Symbol.hasInstance](value: unknown): boolean;
  /** True for objects that its constructor made. */
  owns(value: object): boolean;
};

/** True if a class made the value. False for a proxy of such an object, and for one that only inherits from it. */
export function isMade<T>(value: unknown, type: Maker<T>): value is T {
  return value instanceof type && type.owns(value as object);
}
