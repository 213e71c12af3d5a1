import { writes } from "../memory/access.ts";
import { ofArgument } from "../errors.ts";
import type { Use } from "./line.ts";

/**
 * Prepares a blocking use by the CPU: checks the access, waits for the work in flight, and revokes the views that must not
 * be used meanwhile.
 *
 * @throws {DisposedError} if a resource was disposed.
 * @throws {AccessError} if the access is not allowed, or the wait could never end.
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
