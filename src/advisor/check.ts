import { otherNames, shown } from "../core/argument.ts";
import { Checks } from "../core/checks.ts";
import type { ArgumentError } from "../core/errors.ts";

const checks: Checks = new Checks("cuda");

/** Reads one argument. @throws {ArgumentError} for a wrong one. */
export type Reader<T> = (value: unknown, argument: string) => T;

export type Shape = { readonly [field: string]: Reader<unknown> };

export type Read<S extends Shape> = { readonly [Field in keyof S]: ReturnType<S[Field]> };

export function oneOf<T extends string>(words: readonly T[]): Reader<T> {
  return (value, argument) => {
    if (words.includes(value as T)) return value as T;
    const expected = words.map((word) => JSON.stringify(word)).join(", ");
    throw wrong(argument, `expected one of ${expected}, got ${shown(value)}.`);
  };
}

export const yesOrNo: Reader<boolean> = (value, argument) => {
  checks.assertBoolean(value, argument);
  return value;
};

/** A whole number from `least` to 2^53 - 1. */
export function whole(least: number): Reader<number> {
  return (value, argument) => {
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) return value;
    throw wrong(argument, `expected a whole number from ${least} to 2^53 - 1, got ${shown(value)}.`);
  };
}

export const time: Reader<number> = (value, argument) => {
  if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
  throw wrong(argument, `expected a finite number, 0 or more, got ${shown(value)}.`);
};

/** Reads an argument with a default. */
export function optional<T, const D>(read: Reader<T>, otherwise: D): Reader<T | D> {
  return (value, argument) => value === undefined ? otherwise : read(value, argument);
}

/** An error in a field is named after the object: `device.system`. */
export function objectOf<S extends Shape>(shape: S): Reader<Read<S>> {
  return (value, argument) => fieldsIn(value, shape, argument, `${argument}.`);
}

/** An error in a field names the field alone. */
export function requestIn<S extends Shape>(value: unknown, shape: S): Read<S> {
  return fieldsIn(value, shape, "request", "");
}

function fieldsIn<S extends Shape>(value: unknown, shape: S, argument: string, prefix: string): Read<S> {
  if (typeof value !== "object" || value === null) throw checks.wrongKind(argument, "an object", value);
  const unknown = otherNames(value, shape);
  if (unknown !== undefined) {
    throw wrong(argument, `unknown property ${unknown}.`, `Use ${Object.keys(shape).join(", ")}.`);
  }
  const given = value as Readonly<Record<string, unknown>>;
  const read = Object.entries(shape).map(([field, reader]) => [field, reader(given[field], prefix + field)]);
  return Object.fromEntries(read) as Read<S>;
}

export function wrong(argument: string, what: string, hint?: string): ArgumentError {
  return checks.wrong(argument, what, hint);
}
