import type { Context } from "../../core/graph/context.ts";
import { checks } from "../stage.ts";

/** Checks that a program gave a context of this API. @throws {ArgumentError} for anything else. */
export function contextIn<C extends Context>(given: C, api: string, argument: string): C {
  if (given?.api === api) return given;
  throw checks.wrongKind(argument, `a context of ${api}`, given, "Open one, and pass it first.");
}
