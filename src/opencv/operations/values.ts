import { shown } from "../../core/argument.ts";
import { wrong } from "../errors.ts";
import { namesNear, withoutPrefix } from "./names.ts";

/** So many names a message can list. */
const LISTED = 16;

/** A number that a program gave: finite, and within bounds. @throws {ArgumentError} */
export function number(given: unknown, argument: string, least = -Infinity, most = Infinity): number {
  if (typeof given === "number" && Number.isFinite(given) && given >= least && given <= most) return given;
  const within = least === -Infinity ? "" : most === Infinity ? `, ${least} at least` : ` from ${least} to ${most}`;
  throw wrong(argument, `${shown(given)} is no number${within}.`);
}

/** A whole number that an int holds, within bounds. @throws {ArgumentError} */
export function int(given: unknown, argument: string, least: number, most: number): number {
  if (Number.isInteger(given) && (given as number) >= least && (given as number) <= most) return given as number;
  throw wrong(argument, `${shown(given)} is no whole number from ${least} to ${most}.`);
}

/** True or false. @throws {ArgumentError} for anything else. */
export function flag(given: unknown, argument: string): boolean {
  if (typeof given === "boolean") return given;
  throw wrong(argument, `${shown(given)} is neither true nor false.`);
}

/** One of a few numbers. @throws {ArgumentError} for any other. */
export function oneOf(numbers: readonly number[], given: unknown, argument: string): number {
  if (numbers.includes(given as number)) return given as number;
  throw wrong(argument, `${shown(given)} is none of ${numbers.join(", ")}.`);
}

/** What a name of OpenCV's stands for, in a table of them. @throws {ArgumentError} for a name that is not in it. */
export function named<N extends string, V>(table: Readonly<Record<N, V>>, given: unknown, argument: string): V {
  if (typeof given === "string" && Object.hasOwn(table, given)) return table[given as N];
  const names = Object.keys(table);
  const few = names.length <= LISTED;
  const all = few ? names.join(", ") : `the ${names.length} names that there are`;
  const hint = withoutPrefix(names, given) ?? (few ? undefined : nearest(names, given));
  throw wrong(argument, `${shown(given)} is none of ${all}.`, hint);
}

function nearest(names: readonly string[], given: unknown): string | undefined {
  const near = namesNear(names, given);
  return near.length === 0 ? undefined : `Near it: ${near.join(", ")}.`;
}
