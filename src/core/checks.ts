import { isMade, type Maker, shown } from "./argument.ts";
import { ArgumentError } from "./errors.ts";
import { Fence } from "./life/fence.ts";
import { bytesOf } from "./intrinsics.ts";

/** Items of a list that a program passes: more are a mistake, or a list that never ends. */
const MOST_ITEMS = 65_536;

const NONE: readonly Fence[] = [];

/** The checks of what a program passes, whose errors name one API. */
export class Checks {
  readonly #api: string;

  /** `api` as errors name it. */
  constructor(api: string) {
    this.#api = api;
  }

  /** Throws unless a value is of a class of ours. */
  assertInstance<T>(value: unknown, type: Maker<T>, argument: string): asserts value is T {
    if (!isMade(value, type)) {
      throw this.wrongKind(argument, `${/^[AEIO]/.test(type.name) ? "an" : "a"} ${type.name}`, value);
    }
  }

  /** Throws unless a value is a text. */
  assertText(value: unknown, argument: string): asserts value is string {
    if (typeof value !== "string") throw this.wrongKind(argument, "a string", value);
  }

  /** Throws unless a value is true or false. */
  assertBoolean(value: unknown, argument: string): asserts value is boolean {
    if (typeof value !== "boolean") throw this.wrongKind(argument, "a boolean", value);
  }

  /** The same of several, by their names. */
  assertBooleans(values: Readonly<Record<string, unknown>>): void {
    for (const [argument, value] of Object.entries(values)) this.assertBoolean(value, argument);
  }

  /**
   * A handle that a program gave: any but null. Whether it is one, only its owner can know.
   *
   * @throws {ArgumentError} where it is null, negative, beyond 64 bits, or no bigint.
   */
  handleIn<H extends bigint>(given: unknown, argument: string): H {
    if (typeof given !== "bigint") throw this.wrongKind(argument, "a bigint", given);
    if (given > 0n && given < 2n ** 64n) return given as H;
    throw this.wrong(argument, `${given === 0n ? "it is null" : `${shown(given)} is no handle`}.`);
  }

  /**
   * What is still to be waited for of the fences that a program gave, each read once.
   *
   * @throws {ArgumentError} where one is no fence.
   * @throws {DisposedError} where one was disposed.
   * @throws what made one fail.
   */
  unreached(given: Fence | readonly Fence[] | undefined, argument: string): readonly Fence[] {
    if (given === undefined) return NONE;
    if (!Array.isArray(given)) {
      this.assertInstance(given, Fence, argument);
      return given.reached() ? [] : [given];
    }
    const fences: Fence[] = this.itemsIn<Fence>(given, argument);
    return fences.filter((fence, i) => {
      this.assertInstance(fence, Fence, `${argument}[${i}]`);
      return !fence.reached();
    });
  }

  /** The items of an array that a program gave, each read once, by its index. @throws {ArgumentError} for too many. */
  itemsIn<T>(given: readonly T[], argument: string): T[] {
    const { length } = given;
    if (length > MOST_ITEMS) throw this.wrong(argument, `${length} are more than ${MOST_ITEMS}.`);
    const items: T[] = [];
    for (let i = 0; i < length; i++) items.push(given[i]);
    return items;
  }

  /**
   * A fresh view of the bytes that a program gave.
   *
   * @param expected what it is to be, for messages
   * @throws {ArgumentError} where it is no view, or a stale one.
   */
  bytesIn(given: unknown, argument: string, expected: string = "a typed array or DataView"): Uint8Array<ArrayBuffer> {
    const bytes = bytesIn(given, (what, hint) => this.wrong(argument, what, hint));
    if (bytes === undefined) throw this.wrongKind(argument, expected, given);
    return bytes;
  }

  /** The error of an argument that is something else. */
  wrongKind(argument: string, expected: string, value: unknown): ArgumentError {
    return this.wrong(argument, `it is to be ${expected}; got ${kindOf(value)}.`);
  }

  /** The error of an argument, in a sentence. */
  wrong(argument: string, what: string, hint?: string): ArgumentError {
    const fields = { api: this.#api, argument, ...(hint === undefined ? {} : { hint }) };
    return new ArgumentError(`${argument}: ${what}`, fields);
  }
}

/** What a value is, for messages. */
export function kindOf(value: unknown): string {
  if (value === null || typeof value !== "object") return value === null ? "null" : typeof value;
  const { constructor } = value;
  return typeof constructor === "function" ? shown(constructor.name) : "object";
}

/**
 * A fresh view of the bytes that a program gave, without the program's own properties; undefined for what is no view. Bytes
 * that an argument takes come in here.
 *
 * @param wrong makes the error of a view whose bytes are gone
 */
export function bytesIn(
  value: unknown,
  wrong: (what: string, hint: string) => ArgumentError,
): Uint8Array<ArrayBuffer> | undefined {
  if (!ArrayBuffer.isView(value)) return undefined;
  const bytes = bytesOf(value);
  if (bytes === undefined) {
    throw wrong("the view is stale: its buffer was detached, or is too short for it now.", "Take the view anew.");
  }
  return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
}
