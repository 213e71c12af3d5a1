import { reads, writes } from "./access.ts";
import type { Described } from "./described.ts";
import type { Plan } from "./mapper.ts";

/** What an experiment came to: does the device use these bytes in place? */
export interface Verdict {
  readonly aliases: boolean;
  readonly evidence: string;
}

/** The verdict on memory that another API is told of by its address alone. */
export const SAME_ADDRESS: Verdict = { aliases: true, evidence: "the same address: no memory object is made" };

/** The verdict on a buffer that another API is told of by its handle. */
export const SAME_CL_MEM: Verdict = { aliases: true, evidence: "the same cl_mem: no memory object is made" };

/** The verdict on memory that a route reaches by a map which has yet to be made. */
export const UNMAPPED: Verdict = {
  aliases: false,
  evidence: "not proven: the address is known only once it is mapped",
};

/** A step that is an alias where that was proven, and else left to the driver, which moves the bytes. */
export function planned(edge: string, { aliases, evidence }: Verdict, hostWait: boolean, result: Described): Plan {
  if (aliases) return { edge, transfer: "alias", hostWait, bytesMoved: 0, evidence, result };
  return { edge, transfer: "migrate", hostWait, bytesMoved: movedBy(result), evidence, result };
}

/** A step that copies, and why it has to. */
export function plannedCopy(edge: string, evidence: string | undefined, hostWait: boolean, result: Described): Plan {
  return { edge, transfer: "copy", hostWait, bytesMoved: movedBy(result), evidence, result };
}

/** Bytes that go there for reading, and come back after writing. */
function movedBy({ range: { byteLength }, access }: Described): number {
  return byteLength * (Number(reads(access)) + Number(writes(access)));
}
