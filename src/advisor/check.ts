import { type Names, optionsIn, shown } from "../core/argument.ts";
import { Checks } from "../core/checks.ts";
import type { ArgumentError } from "../core/errors.ts";

const checks: Checks = new Checks("cuda");

/** One of the words of a list. @throws {ArgumentError} for anything else. */
export function oneOf<T extends string>(value: unknown, words: readonly T[], argument: string): T {
  if (words.includes(value as T)) return value as T;
  const quotedWords = words.map((word) => JSON.stringify(word)).join(", ");
  throw checks.wrong(argument, `${shown(value)} is none of its values.`, `Use one of ${quotedWords}.`);
}

/** True or false. @throws {ArgumentError} for anything else. */
export function yesOrNo(value: unknown, argument: string): boolean {
  checks.assertBoolean(value, argument);
  return value;
}

/** A whole number in `[least, 2^53)`. @throws {ArgumentError} for anything else. */
export function whole(value: unknown, argument: string, least: number): number {
  if (typeof value !== "number") throw checks.wrongKind(argument, "a number", value);
  if (!Number.isSafeInteger(value)) throw checks.wrong(argument, `${value} is not a whole number below 2^53.`);
  if (value < least) throw checks.wrong(argument, `${value} is less than ${least}.`);
  return value;
}

/** A time: finite, and not negative. @throws {ArgumentError} for anything else. */
export function time(value: unknown, argument: string): number {
  if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
  throw checks.wrong(argument, `${shown(value)} is no time: it is to be a finite number, 0 or more.`);
}

/** What was given as an object of these fields. @throws {ArgumentError} where it is none, or has others. */
export function fields<T extends object>(value: T, names: Names<T>, argument: string): T {
  if (typeof value !== "object" || value === null) throw checks.wrongKind(argument, "an object", value);
  return optionsIn(value, names, argument);
}

/** The error of an argument, in a sentence. */
export function wrong(argument: string, what: string, hint?: string): ArgumentError {
  return checks.wrong(argument, what, hint);
}
