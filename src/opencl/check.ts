import type { Maker } from "../core/argument.ts";
import { Checks, kindOf } from "../core/checks.ts";
import type { Fence } from "../core/device/fence.ts";
import { type ArgumentError, LayoutError } from "../core/errors.ts";
import type { OpenCLContext } from "./context.ts";

export { kindOf };

/** The checks of arguments to OpenCL. */
export const checks: Checks = new Checks("opencl");

/** Throws unless a value is an instance of one of our classes. */
export function assertInstance<T>(value: unknown, type: Maker<T>, argument: string): asserts value is T {
  checks.assertInstance(value, type, argument);
}

/** Throws unless a value is a string. */
export function assertText(value: unknown, argument: string): asserts value is string {
  checks.assertText(value, argument);
}

/** @see {@link Checks.fencesIn} */
export function fencesIn(given: Fence | readonly Fence[] | undefined, argument: string): readonly Fence[] {
  return checks.fencesIn(given, argument);
}

/** @see {@link Checks.handleIn} */
export function handleIn<H extends bigint>(given: unknown, argument: string): H {
  return checks.handleIn(given, argument);
}

/** @see {@link Checks.itemsIn} */
export function itemsIn<T>(given: readonly T[], argument: string): T[] {
  return checks.itemsIn(given, argument);
}

/** @see {@link Checks.bytesIn} */
export function bytesIn(given: unknown, argument: string, expected?: string): Uint8Array<ArrayBuffer> {
  return checks.bytesIn(given, argument, expected);
}

/** @see {@link Checks.wrongKind} */
export function wrongKind(argument: string, expected: string, value: unknown): ArgumentError {
  return checks.wrongKind(argument, expected, value);
}

/** The message for an object and a user of different contexts, which may have the same device. */
export function ofAnother(name: string, at: OpenCLContext, user: string, home: OpenCLContext): string {
  if (at.name === home.name) return `${name} belongs to another context of ${at.name} than ${user}.`;
  return `${name} belongs to ${at.name}, ${user} to ${home.name}.`;
}

/**
 * Throws if so many bytes, and the slack that aligns them, are more than a context's devices take in one piece
 * (CL_DEVICE_MAX_MEM_ALLOC_SIZE).
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
