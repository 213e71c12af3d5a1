import type { Fence } from "../device/fence.ts";
import type { Verdict } from "../device/proofs.ts";
import { reads, writes } from "../memory/access.ts";
import type { Described } from "../tensors/described.ts";
import type { Plan } from "./mapper.ts";

/** The verdict on memory that the other API gets by its address alone. */
export const SAME_ADDRESS: Verdict = { aliases: true, evidence: "the same address: no memory object is made" };

/** The verdict on memory that a route reaches only by a map that has yet to be made. */
export const UNMAPPED: Verdict = {
  aliases: false,
  evidence: "not proven: the address is known only once it is mapped",
};

/** Why the host waits for this work before it uses the bytes by itself; undefined without work. */
export function whyHostReads(waits: readonly Fence[]): string | undefined {
  return waits.length === 0 ? undefined : `it uses the bytes itself, once the work of ${linesInWords(waits)} is over`;
}

const MOST_LINES = 3;

/** Whose work these fences stand for, and what the host cannot wait for: it would block what settles a promise. */
export function linesInWords(fences: readonly Fence[]): string {
  const names = new Map(fences.map(({ line, mark }) => [line.name, line.gatesAt(mark) !== undefined]));
  const named = Array.from(names, ([name, gated]) => gated ? `${name} (behind a promise: settle that first)` : name);
  return named.length <= MOST_LINES
    ? named.join(" and ")
    : `${named.slice(0, MOST_LINES).join(", ")} and ${named.length - MOST_LINES} others`;
}

/** An alias if that was proven; otherwise the driver moves the bytes. `waitReason`: why the host has to wait before. */
export function planned(
  edge: string,
  { aliases, evidence }: Verdict,
  waitReason: string | undefined,
  result: Described,
): Plan {
  const hostWait = waitReason !== undefined;
  if (aliases) return { edge, transfer: "alias", hostWait, waitReason, bytesMoved: 0, evidence, result };
  return { edge, transfer: "migrate", hostWait, waitReason, bytesMoved: movedBy(result), evidence, result };
}

export function plannedCopy(
  edge: string,
  evidence: string | undefined,
  waitReason: string | undefined,
  result: Described,
): Plan {
  const hostWait = waitReason !== undefined;
  return { edge, transfer: "copy", hostWait, waitReason, bytesMoved: movedBy(result), evidence, result };
}

/** Bytes that move there to be read, and back after they were written. */
function movedBy({ range: { byteLength }, access }: Described): number {
  return byteLength * (Number(reads(access)) + Number(writes(access)));
}
