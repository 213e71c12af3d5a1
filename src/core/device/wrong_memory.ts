import { isMade } from "../argument.ts";
import type { Checks } from "../checks.ts";
import type { ArgumentError } from "../errors.ts";
import type { Access } from "../memory/access.ts";
import { Frame } from "../tensors/frame.ts";
import { Tensor } from "../tensors/tensor.ts";

export interface Expected {
  readonly expected: string;
  readonly target: string;
}

/** The error of what a queue's command does not take, with what to do instead. */
export function wrongMemory(
  checks: Checks,
  given: unknown,
  access: Access,
  argument: string,
  { expected, target }: Expected,
): ArgumentError {
  return checks.wrongKind(argument, expected, given, remedyOf(given, access, target));
}

function remedyOf(given: unknown, access: Access, target: string): string | undefined {
  if (isMade<Frame>(given, Frame)) return "Pass one plane after the other: frame.planes[i].";
  if (!(given instanceof Tensor)) return undefined;
  const orWrite = access === "read" && "view" in given ? ", or queue.write() its view" : "";
  return `Map it first: graph.map(tensor, ${target})${orWrite}.`;
}
