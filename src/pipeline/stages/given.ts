import type { Context } from "../../core/graph/context.ts";
import { checks } from "../stage.ts";

/**
 * Checks that a program gave an open context of this API.
 *
 * @throws {ArgumentError} for anything else.
 * @throws {DisposedError} for one that was disposed.
 */
export function contextIn<C extends Context>(given: C, api: string, argument: string): C {
  if (given?.api !== api) {
    throw checks.wrongKind(argument, `a context of ${api}`, given, "Open one, and pass it first.");
  }
  given.resource?.assertLive();
  return given;
}
