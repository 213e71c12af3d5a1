import { ArgumentError } from "../core/errors.ts";
import { bytesOf } from "../core/intrinsics.ts";

/** Throws unless a value is of a class of ours. */
export function assertInstance<T>(
  value: unknown,
  type: abstract new (...args: never[]) => T,
  argument: string,
): asserts value is T {
  if (!(value instanceof type)) throw wrongKind(argument, `an ${type.name}`, value);
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

/** What a value is, for messages. */
export function kindOf(value: unknown): string {
  if (value === null || typeof value !== "object") return value === null ? "null" : typeof value;
  const { constructor } = value;
  return typeof constructor === "function" ? constructor.name : "object";
}

function wrongKind(argument: string, expected: string, value: unknown): ArgumentError {
  return new ArgumentError(`${argument}: it is to be ${expected}; got ${kindOf(value)}.`, { api: "opencl", argument });
}

/** A fresh view of the bytes that a view shows, without what the program has made of it; undefined for what is no view. */
export function bytesIn(value: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (!ArrayBuffer.isView(value)) return undefined;
  const { buffer, byteOffset, byteLength } = bytesOf(value);
  // One whose buffer was moved away shows none.
  return byteLength === 0 ? new Uint8Array(0) : new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
}
