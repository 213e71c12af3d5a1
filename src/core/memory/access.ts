import { shown } from "../argument.ts";
import { ArgumentError } from "../errors.ts";

/** What may be done with bytes. `"write"`: every byte will be written, so nothing is fetched first. */
export type Access = "read" | "write" | "read-write";

/** True where `access` lets bytes be changed. */
export function writes(access: Access): boolean {
  return access !== "read";
}

/** True where `access` lets bytes be seen. */
export function reads(access: Access): boolean {
  return access !== "write";
}

/** True where somebody who holds `held` may pass on `wanted`. */
export function covers(held: Access, wanted: Access): boolean {
  return held === wanted || (held === "read-write" && (wanted === "read" || wanted === "write"));
}

/** An access that was given, or `otherwise` where none was. @throws {ArgumentError} for anything else. */
export function accessOf(given: unknown, otherwise: Access): Access {
  if (given === undefined) return otherwise;
  if (given === "read" || given === "write" || given === "read-write") return given;
  throw new ArgumentError(`access: ${shown(given)} is none.`, {
    api: "core",
    argument: "access",
    hint: 'Use "read", "write" or "read-write".',
  });
}
