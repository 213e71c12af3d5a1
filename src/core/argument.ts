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

/** A class that knows its own objects. */
export type Maker<T> = (abstract new (...args: never[]) => T) & {
  /** True for what its constructor has made. */
  owns(value: object): boolean;
};

/** Is a value of a class? A proxy of such an object is none, nor is what only inherits from one. */
export function isMade<T>(value: unknown, type: Maker<T>): value is T {
  return value instanceof type && type.owns(value as object);
}
