import { aKind, isMade, literal, type Maker, optionsIn, shown, withArticle } from "./argument.ts";
import { ArgumentError, type ErrorFields, LayoutError } from "./errors.ts";
import { bytesOf } from "./intrinsics.ts";
import type { AudioInfo, FrameInfo, PixelsInfo } from "./layout/frame_info.ts";
import type { Layout } from "./layout/layout.ts";
import { HAS_ZERO } from "./native/text.ts";

/** More items in a list are a mistake of the program. */
const MAX_ITEMS = 65_536;

/** No handle has more than 64 bits. V8 would work the power out at each call. */
const BEYOND = 2n ** 64n;

/** Names the context of a foreign object, for a message: both contexts may have one device, and so the same name. */
export function elsewhere(home: { readonly name: string }, here: { readonly name: string }): string {
  if (home.name === here.name) return `belongs to another context of ${home.name}`;
  return `belongs to ${home.name}, and not to ${here.name}`;
}

/** What an option has to be, in a table of names: a program may leave it out. */
export type Rule = (checks: Checks, value: unknown, argument: string) => void;

export const BOOLEAN: Rule = (checks, value, argument) => checks.assertBoolean(value, argument);
export const TEXT: Rule = (checks, value, argument) => checks.assertText(value, argument);
export const SIGNAL: Rule = (checks, value, argument) => checks.assertSignal(value, argument);

/** The object that an option is. Its user checks the fields. */
export const OBJECT: Rule = (checks, value, argument) => {
  if (typeof value !== "object" || value === null) throw checks.wrongKind(argument, "an object", value);
};

/** The function that an option is. */
export const FUNCTION: Rule = (checks, value, argument) => {
  if (typeof value !== "function") throw checks.wrongKind(argument, "a function", value);
};

export function integer(least: number, most: number): Rule {
  return (checks, value, argument) => checks.assertInteger(value, argument, least, most);
}

/** More seconds are a mistake: they are 31 years. */
const MAX_SECONDS = 1e9;

/** A time in seconds. */
export const SECONDS: Rule = (checks, value, argument) => {
  if (typeof value !== "number") throw checks.wrongKind(argument, "a number", value);
  if (value >= 0 && value <= MAX_SECONDS) return;
  throw checks.wrong(argument, `expected seconds from 0 to ${MAX_SECONDS}, got ${literal(value)}.`);
};

/** Checks of what a program passes. Their errors name one API. */
export class Checks {
  /** The API, as errors name it. */
  readonly api: string;

  /** `api` as errors name it. */
  constructor(api: string) {
    this.api = api;
  }

  /**
   * A program's options, each as its rule says, where it has one.
   *
   * @throws {ArgumentError} if it is not an object of options, has an unknown name, or breaks a rule.
   */
  optionsIn<T extends object>(
    given: T,
    names: { readonly [N in keyof T]-?: unknown },
    argument: string = "options",
  ): T {
    const options = optionsIn(given, names, argument);
    for (const [name, rule] of Object.entries(names)) {
      const value: unknown = Reflect.get(options, name);
      if (typeof rule === "function" && value !== undefined) (rule as Rule)(this, value, name);
    }
    return options;
  }

  /** Throws unless a value was made by one of our classes. */
  assertInstance<T>(value: unknown, type: Maker<T>, argument: string): asserts value is T {
    if (!isMade(value, type)) {
      throw this.wrongKind(argument, withArticle(type.name), value);
    }
  }

  /** Throws unless a value is a string, which C reads to its end. */
  assertText(value: unknown, argument: string): asserts value is string {
    if (typeof value !== "string") throw this.wrongKind(argument, "a string", value);
    if (value.includes("\0")) throw this.wrong(argument, HAS_ZERO);
  }

  /** Throws unless a value is a boolean. */
  assertBoolean(value: unknown, argument: string): asserts value is boolean {
    if (typeof value !== "boolean") throw this.wrongKind(argument, "a boolean", value);
  }

  /** Throws unless a value is an AbortSignal, or undefined. */
  assertSignal(value: unknown, argument: string): void {
    if (value === undefined || value instanceof AbortSignal) return;
    throw this.wrongKind(argument, "an AbortSignal", value);
  }

  /** Throws unless a value is an integer in a range. */
  assertInteger(value: unknown, argument: string, least: number, most: number): asserts value is number {
    if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return;
    throw this.wrong(
      argument,
      `expected an integer from ${least} to ${most}, got ${typeof value === "number" ? value : aKind(value)}.`,
    );
  }

  /** Throws unless a value is a finite number. @param isDivisor true if it may not be 0 */
  assertFinite(value: unknown, argument: string, isDivisor: boolean = false): asserts value is number {
    if (Number.isFinite(value) && !(isDivisor && value === 0)) return;
    throw this.wrong(argument, `expected a finite number${isDivisor ? " other than 0" : ""}, got ${literal(value)}.`);
  }

  /** The description of pixels. @throws {ArgumentError} for a table; the caller deals with sound. */
  pixelsIn(info: Exclude<FrameInfo, AudioInfo>, argument: string): PixelsInfo {
    if (info.type !== "table") return info;
    throw this.wrong(argument, "expected pixels, got a table.", "Map its columns by themselves: frame.planes[0].");
  }

  /** Throws unless each of these values, by their names, is a boolean. */
  assertBooleans(values: Readonly<Record<string, unknown>>): void {
    for (const [argument, value] of Object.entries(values)) this.assertBoolean(value, argument);
  }

  /**
   * A handle that a program gave. Only its owner can know whether it is alive.
   *
   * @throws {ArgumentError} if it is null, negative, beyond 64 bits, or no bigint.
   */
  handleIn<H extends bigint>(given: unknown, argument: string): H {
    if (typeof given !== "bigint") throw this.wrongKind(argument, "a bigint", given);
    if (given > 0n && given < BEYOND) return given as H;
    throw this.wrong(argument, `expected a handle, got ${given === 0n ? "null" : shown(given)}.`);
  }

  /** An fd that a program gave. @throws {ArgumentError} for what cannot be one. */
  fdIn(given: number, argument: string): number {
    if (Number.isInteger(given) && given >= 0 && given <= 0x7fff_ffff) return given | 0; // FFI refuses -0
    throw this.wrong(argument, `expected an fd, got ${literal(given)}.`);
  }

  /**
   * A copy of an array that a program gave.
   *
   * @param expected the kind of array, for messages
   * @throws {ArgumentError} if it is not an array, or too long.
   */
  itemsIn<T>(given: readonly T[], argument: string, expected: string = "an array"): T[] {
    if (!Array.isArray(given)) throw this.wrongKind(argument, expected, given);
    const { length } = given;
    if (length > MAX_ITEMS) throw this.wrong(argument, `expected at most ${MAX_ITEMS} items, got ${length}.`);
    const items = new Array<T>(length);
    for (let i = 0; i < length; i++) items[i] = given[i];
    return items;
  }

  /** What a program's iterable yields. @throws {ArgumentError} if it is not one, or yields too much. */
  listIn<T>(given: Iterable<T>, argument: string): T[] {
    const isList = typeof given === "object" && typeof given?.[Symbol.iterator] === "function";
    if (!isList) throw this.wrongKind(argument, "an iterable, such as an array", given);
    const items: T[] = [];
    for (const item of given) { // it may never end
      if (items.push(item) > MAX_ITEMS) throw this.wrong(argument, `${shown(given)} is longer than ${MAX_ITEMS}.`);
    }
    return items;
  }

  /**
   * A fresh view of the bytes that a program gave.
   *
   * @param expected the kind of view, for messages
   * @throws {ArgumentError} if it is not a view, or a stale one.
   */
  bytesIn(given: unknown, argument: string, expected: string = "a typed array or DataView"): Uint8Array<ArrayBuffer> {
    const bytes = bytesIn(given, (what, hint) => this.wrong(argument, what, hint));
    if (bytes === undefined) throw this.wrongKind(argument, expected, given);
    return bytes;
  }

  /** A name of a table. @throws {ArgumentError} for anything else. */
  nameIn<T extends object>(given: unknown, table: T, argument: string): keyof T {
    if (typeof given === "string" && Object.hasOwn(table, given)) return given as keyof T;
    const names = Object.keys(table).map((name) => `"${name}"`).join(", ");
    throw this.wrong(
      argument,
      `expected one of ${names}, got ${typeof given === "string" ? `"${shown(given)}"` : shown(given)}.`,
    );
  }

  /** Throws unless a layout ends within memory of so many bytes. `fn` has reported how many. */
  assertWithin(
    { byteOffset, byteLength }: Pick<Layout, "byteOffset" | "byteLength">,
    room: number,
    argument: string,
    fn?: string,
  ): void {
    const end = byteOffset + byteLength;
    if (end <= room) return;
    throw this.unfit(argument, `it reaches to byte ${end}; the memory has ${room}.`, undefined, fn);
  }

  /** Throws unless an object's context is the one that is to use it. */
  assertHere(
    home: { readonly name: string },
    here: { readonly name: string },
    argument: string,
    object: string = "it",
    hint?: string,
  ): void {
    if (home !== here) throw this.wrong(argument, `${object} ${elsewhere(home, here)}.`, hint);
  }

  /** The error of an argument of the wrong kind: `source: expected a string, got a number.` */
  wrongKind(argument: string, expected: string, value: unknown, hint?: string): ArgumentError {
    return this.wrong(argument, `expected ${expected}, got ${aKind(value)}.`, hint);
  }

  /** The error of an argument; `what` is the rest of the sentence. */
  wrong(argument: string, what: string, hint?: string, fn?: string): ArgumentError {
    return new ArgumentError(`${argument}: ${what}`, this.#fields(argument, hint, fn));
  }

  /** The error of a layout, or of a tensor's; `what` is the rest of the sentence. */
  unfit(argument: string, what: string, hint?: string, fn?: string): LayoutError {
    return new LayoutError(`${argument}: ${what}`, this.#fields(argument, hint, fn));
  }

  #fields(argument: string, hint: string | undefined, fn: string | undefined): ErrorFields {
    return { api: this.api, argument, hint, ...(fn === undefined ? {} : { fn }) };
  }
}

export const OF_BYTES =
  "Pass the tensor itself, not its view; host.wrap() makes a tensor of an array of your own, in place.";

export function isBytes(given: unknown): boolean {
  return ArrayBuffer.isView(given) || given instanceof ArrayBuffer;
}

/** Undefined if the program gave no view; `wrong` makes the error of a view whose bytes are gone. */
export function bytesIn(
  value: unknown,
  wrong: (what: string, hint: string) => ArgumentError,
): Uint8Array<ArrayBuffer> | undefined {
  if (!ArrayBuffer.isView(value)) return undefined;
  const bytes = bytesOf(value);
  if (bytes === undefined) {
    throw wrong("the view is stale: its buffer was detached, or is now too short for it.", "Take the view again.");
  }
  return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
}
