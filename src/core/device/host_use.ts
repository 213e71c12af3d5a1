import { writes } from "../memory/access.ts";
import { ofArgument } from "../errors.ts";
import type { Use } from "./line.ts";

/**
 * Makes everything ready that the CPU is about to use itself, in a call that is done when it returns: checks it, waits for the
 * work on it, and takes away the views that may not be used beside.
 *
 * @throws {DisposedError} where something was disposed.
 * @throws {AccessError} where something may not be used so, or the wait could never end.
 */
export function readyForHost(uses: readonly Use[]): void {
  for (const { tensor, access, argument } of uses) {
    try {
      tensor.assertUsable(access);
    } catch (error) {
      throw ofArgument(error, argument, argument);
    }
  }
  for (const { tensor, access } of uses) {
    for (const work of tensor.works) work.eachBefore(writes(access), (line, mark) => line.block(mark));
  }
  for (const { tensor, access } of uses) tensor.revokeViews(access);
}
