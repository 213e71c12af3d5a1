import type { Maker } from "../core/argument.ts";
import { Checks, kindOf } from "../core/checks.ts";
import type { Fence } from "../core/device/fence.ts";
import { type ArgumentError, LayoutError } from "../core/errors.ts";
import type { OpenCLContext } from "./context.ts";

export { kindOf };

/** The checks of what a program passes to OpenCL. */
export const checks: Checks = new Checks("opencl");

/** Throws unless a value is of a class of ours. */
export function assertInstance<T>(value: unknown, type: Maker<T>, argument: string): asserts value is T {
  checks.assertInstance(value, type, argument);
}

/** Throws unless a value is a text. */
export function assertText(value: unknown, argument: string): asserts value is string {
  checks.assertText(value, argument);
}

/** The fences that a program gave. @see {@link Checks.fencesIn} */
export function fencesIn(given: Fence | readonly Fence[] | undefined, argument: string): readonly Fence[] {
  return checks.fencesIn(given, argument);
}

/** A handle that a program gave. @see {@link Checks.handleIn} */
export function handleIn<H extends bigint>(given: unknown, argument: string): H {
  return checks.handleIn(given, argument);
}

/** The items of an array that a program gave. @see {@link Checks.itemsIn} */
export function itemsIn<T>(given: readonly T[], argument: string): T[] {
  return checks.itemsIn(given, argument);
}

/** A fresh view of the bytes that a program gave. @see {@link Checks.bytesIn} */
export function bytesIn(given: unknown, argument: string, expected?: string): Uint8Array<ArrayBuffer> {
  return checks.bytesIn(given, argument, expected);
}

/** The error of an argument that is something else. */
export function wrongKind(argument: string, expected: string, value: unknown): ArgumentError {
  return checks.wrongKind(argument, expected, value);
}

/** In words, that something is of another context than its user; the two may well have the same device. */
export function ofAnother(name: string, at: OpenCLContext, user: string, home: OpenCLContext): string {
  if (at.name === home.name) return `${name} belongs to another context of ${at.name} than ${user}.`;
  return `${name} belongs to ${at.name}, ${user} to ${home.name}.`;
}

/**
 * Throws where the devices of a context do not take so many bytes in one piece (CL_DEVICE_MAX_MEM_ALLOC_SIZE), with as many
 * more as it takes to align them.
 */
export function assertInOnePiece(
  { name, maxAllocation }: OpenCLContext,
  fn: string,
  byteLength: number,
  slack: number = 0,
): void {
  if (byteLength + slack <= maxAllocation) return;
  const what = `${byteLength} bytes${slack > 0 ? `, aligned to ${slack},` : ""}`;
  throw new LayoutError(`shape: ${what} are more than the ${maxAllocation} that ${name} takes in one piece.`, {
    api: "opencl",
    fn,
    argument: "shape",
    hint: "Allocate it in parts.",
  });
}
