import { writes } from "../memory/access.ts";
import { ofArgument } from "../errors.ts";
import type { Line, Use } from "./line.ts";

export function assertUsable(uses: readonly Use[]): void {
  for (const { tensor, access, argument } of uses) {
    try {
      tensor.assertUsable(access);
    } catch (error) {
      throw ofArgument(error, argument, argument);
    }
  }
}

/** Visits the marks that conflict with these uses, over or not: a reader waits for writers, a writer for all. */
export function eachConflict(uses: readonly Use[], visit: (line: Line, mark: number) => void): void {
  for (const { tensor, access } of uses) {
    const writing = writes(access);
    for (const work of tensor.works) work.eachBefore(writing, visit);
  }
}

export function revokeViews(uses: readonly Use[]): void {
  for (const { tensor, access } of uses) tensor.revokeViews(access);
}

/**
 * Prepares a blocking use by the CPU: checks the access, waits for the work in flight, and revokes the views that must not
 * be used meanwhile.
 * @throws {DisposedError} if a resource was disposed.
 * @throws {AccessError} if the access is not allowed, or the wait could never end.
 */
export function readyForHost(uses: readonly Use[]): void {
  assertUsable(uses);
  eachConflict(uses, (line, mark) => line.block(mark));
  revokeViews(uses);
}
