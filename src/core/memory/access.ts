import { unexpected } from "../argument.ts";

/** What a holder may do with bytes. `"write"` promises to write every byte, so the old ones are not fetched. */
export type Access = "read" | "write" | "read-write";

export function writes(access: Access): boolean {
  return access !== "read";
}

export function reads(access: Access): boolean {
  return access !== "write";
}

export function covers(held: Access, wanted: Access): boolean {
  return held === wanted || (held === "read-write" && (wanted === "read" || wanted === "write"));
}

/** The access given, or `otherwise` if it is undefined. @throws {ArgumentError} for anything else. */
export function accessOf(given: unknown, otherwise: Access): Access {
  if (given === undefined) return otherwise;
  if (given === "read" || given === "write" || given === "read-write") return given;
  throw unexpected("access", '"read", "write" or "read-write"', given);
}
