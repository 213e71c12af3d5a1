import type { Verdict } from "../device/proofs.ts";
import { reads, writes } from "../memory/access.ts";
import type { Described } from "../tensors/described.ts";
import type { Plan } from "./mapper.ts";

/** The verdict on memory that the other API is told by its address alone. */
export const SAME_ADDRESS: Verdict = { aliases: true, evidence: "the same address: no memory object is made" };

/** The verdict on memory that a route reaches only by a map that has yet to be made. */
export const UNMAPPED: Verdict = {
  aliases: false,
  evidence: "not proven: the address is known only once it is mapped",
};

/** A step that is an alias if that was proven; otherwise the driver moves the bytes. */
export function planned(edge: string, { aliases, evidence }: Verdict, hostWait: boolean, result: Described): Plan {
  if (aliases) return { edge, transfer: "alias", hostWait, bytesMoved: 0, evidence, result };
  return { edge, transfer: "migrate", hostWait, bytesMoved: movedBy(result), evidence, result };
}

/** A step that copies, and why it has to. */
export function plannedCopy(edge: string, evidence: string | undefined, hostWait: boolean, result: Described): Plan {
  return { edge, transfer: "copy", hostWait, bytesMoved: movedBy(result), evidence, result };
}

/** Bytes that move there to be read, and back after they were written. */
function movedBy({ range: { byteLength }, access }: Described): number {
  return byteLength * (Number(reads(access)) + Number(writes(access)));
}
