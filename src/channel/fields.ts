import { literal } from "../core/argument.ts";
import { badMessage, type MessageError } from "./errors.ts";

export function record(
  value: unknown,
  where: string,
  required: readonly string[],
  optional: readonly string[] = [],
): Readonly<Record<string, unknown>> {
  const given = open(value, where);
  const names = Object.keys(given);
  const missing = required.find((name) => !names.includes(name));
  if (missing !== undefined) throw badMessage(`${where}.${missing}`, "it is missing.");
  const other = names.find((name) => !required.includes(name) && !optional.includes(name));
  if (other !== undefined) throw badMessage(where, `unknown property ${literal(other)}.`);
  return given;
}

/** An object with any names. */
export function open(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw unexpected(where, "an object", value);
}

export function list(value: unknown, where: string, least: number, most: number): readonly unknown[] {
  if (!Array.isArray(value)) throw unexpected(where, "an array", value);
  const { length } = value;
  if (length < least || length > most) throw badMessage(where, `expected ${least} to ${most} items, got ${length}.`);
  return value;
}

export function whole(value: unknown, where: string, least: number = 0): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number;
  throw unexpected(where, `a whole number from ${least} below 2^53`, value);
}

export function text(value: unknown, where: string, most: number): string {
  if (typeof value !== "string" || value.length > most) {
    throw unexpected(where, `a string of at most ${most} characters`, value);
  }
  if (!value.isWellFormed()) throw badMessage(where, "expected text, got a string with half of a surrogate pair.");
  return value;
}

export function oneOf<S extends string | boolean>(value: unknown, where: string, all: readonly S[]): S {
  if (all.includes(value as S)) return value as S;
  throw unexpected(where, `one of ${all.map(literal).join(", ")}`, value);
}

export function decimal(value: unknown, where: string, kind: "signed" | "unsigned"): bigint {
  if (typeof value === "string" && /^(0|-?[1-9][0-9]{0,19})$/.test(value)) {
    const number = BigInt(value);
    if ((kind === "signed" ? BigInt.asIntN(64, number) : BigInt.asUintN(64, number)) === number) return number;
  }
  throw unexpected(
    where,
    `${kind === "signed" ? "a signed" : "an unsigned"} number of 64 bits by its decimal digits, as a string`,
    value,
  );
}

function unexpected(where: string, expected: string, value: unknown): MessageError {
  return badMessage(where, `expected ${expected}, got ${literal(value)}.`);
}
