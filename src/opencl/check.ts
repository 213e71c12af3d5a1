import { isMade, type Maker } from "../core/argument.ts";
import { ArgumentError } from "../core/errors.ts";
import { Fence } from "../core/fence.ts";
import { bytesOf } from "../core/intrinsics.ts";
import type { OpenCLContext } from "./context.ts";

/** Items of a list that a program passes: more are a mistake, or a list that never ends. */
const MOST_ITEMS = 65_536;

/** Throws unless a value is of a class of ours. */
export function assertInstance<T>(
  value: unknown,
  type: Maker<T>,
  argument: string,
): asserts value is T {
  if (!isMade(value, type)) throw wrongKind(argument, `an ${type.name}`, value);
}

/** Throws unless a value is a text. */
export function assertText(value: unknown, argument: string): asserts value is string {
  if (typeof value !== "string") throw wrongKind(argument, "a string", value);
}

/**
 * A handle that a program gave: any but null. Whether it is one, only its owner can know.
 *
 * @throws {ArgumentError} where it is null, negative, beyond 64 bits, or no bigint.
 */
export function handleIn<H extends bigint>(given: unknown, argument: string): H {
  if (typeof given !== "bigint") throw wrongKind(argument, "a bigint", given);
  if (given > 0n && given < 2n ** 64n) return given as H;
  throw new ArgumentError(`${argument}: ${given === 0n ? "it is null" : `${given} is no handle`}.`, {
    api: "opencl",
    argument,
  });
}

/**
 * What is still to be waited for of the fences that a program gave, each read once.
 *
 * @throws {ArgumentError} where one is no fence.
 * @throws {DisposedError} where one was disposed.
 * @throws what made one fail.
 */
export function unreached(given: Fence | readonly Fence[] | undefined, argument: string): Fence[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) {
    assertInstance(given, Fence, argument);
    return given.reached() ? [] : [given];
  }
  const fences: Fence[] = itemsIn<Fence>(given, argument);
  return fences.filter((fence, i) => {
    assertInstance(fence, Fence, `${argument}[${i}]`);
    return !fence.reached();
  });
}

/** The items of an array that a program gave, each read once, by its index. @throws {ArgumentError} for too many. */
export function itemsIn<T>(given: readonly T[], argument: string): T[] {
  const { length } = given;
  if (length > MOST_ITEMS) {
    throw new ArgumentError(`${argument}: ${length} are more than ${MOST_ITEMS}.`, { api: "opencl", argument });
  }
  const items: T[] = [];
  for (let i = 0; i < length; i++) items.push(given[i]);
  return items;
}

/** In words, that something is of another context than its user; the two may well have the same device. */
export function ofAnother(name: string, at: OpenCLContext, user: string, home: OpenCLContext): string {
  if (at.name === home.name) return `${name} belongs to another context of ${at.name} than ${user}.`;
  return `${name} belongs to ${at.name}, ${user} to ${home.name}.`;
}

/** What a value is, for messages. */
export function kindOf(value: unknown): string {
  if (value === null || typeof value !== "object") return value === null ? "null" : typeof value;
  const { constructor } = value;
  return typeof constructor === "function" ? constructor.name : "object";
}

/** The error of an argument that is something else. */
export function wrongKind(argument: string, expected: string, value: unknown): ArgumentError {
  return new ArgumentError(`${argument}: it is to be ${expected}; got ${kindOf(value)}.`, { api: "opencl", argument });
}

/** A fresh view of the bytes that a view shows, without what the program has made of it; undefined for what is no view. */
export function bytesIn(value: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (!ArrayBuffer.isView(value)) return undefined;
  const { buffer, byteOffset, byteLength } = bytesOf(value);
  // One whose buffer was moved away shows none.
  return byteLength === 0 ? new Uint8Array(0) : new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
}
