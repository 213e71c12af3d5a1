import { Checks } from "../core/checks.ts";
import type { ArgumentError } from "../core/errors.ts";

export const checks: Checks = new Checks("opencl");

export function refused(fn: string, argument: string, what: string, hint?: string): ArgumentError {
  return checks.wrong(argument, what, hint, fn);
}

interface Named {
  readonly name: string;
}

/** The limit is CL_DEVICE_MAX_MEM_ALLOC_SIZE, of the bytes and the slack that aligns them. @throws {LayoutError} */
export function assertInOnePiece(
  { name, maxAllocation }: Named & { readonly maxAllocation: number },
  fn: string,
  byteLength: number,
  slack: number = 0,
): void {
  if (byteLength + slack <= maxAllocation) return;
  const what = `${byteLength} bytes${slack > 0 ? `, aligned to ${slack},` : ""}`;
  throw checks.unfit(
    "shape",
    `${what} are more than the ${maxAllocation} that ${name} takes in one piece.`,
    "Allocate it in parts.",
    fn,
  );
}
