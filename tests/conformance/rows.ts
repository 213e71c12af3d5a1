import { assertEquals } from "@std/assert";
import { messageOf } from "../../src/core/errors.ts";
import { ledger } from "../../src/core/ledger.ts";
import { type Case, NotHere } from "./case.ts";
import { CASES } from "./cases/mod.ts";
import type { Candidate } from "./subject.ts";

/** On what kind of machine the suite runs. */
export type Where = "bare" | "guest" | "gpu";

/** What came of one case on one edge. */
export interface Row {
  /** `"host→opencl"`. */
  readonly edge: string;
  /** The case's name. */
  readonly case: string;
  /** `"not-here"`: the machine has no such edge, or the edge nothing to be asked. */
  readonly result: "pass" | "fail" | "not-here";
  /** Why it is not a pass. */
  readonly reason?: string;
  /** On what kind of machine. */
  readonly where: Where;
  /** On which device, where there are several. */
  readonly device?: string;
}

/** Runs every case on every edge. */
export async function* rowsOf(candidates: readonly Candidate[], where: Where): AsyncGenerator<Row> {
  for (const candidate of candidates) for (const one of CASES) yield await rowOf(candidate, one, where);
}

/** Runs one case on one edge, which it opens for itself: nothing may be alive afterwards. */
export async function rowOf(candidate: Candidate, one: Case, where: Where): Promise<Row> {
  const { edge, device } = candidate;
  const about = { where, ...(device === undefined ? {} : { device }) };
  try {
    if (typeof candidate.open === "string") throw new NotHere(candidate.open);
    const before = ledger.alive;
    {
      using subject = candidate.open();
      await one.run(subject);
    }
    assertEquals(ledger.alive, before, "still alive after the test");
    return { edge, case: one.name, result: "pass", ...about };
  } catch (error) {
    const result = error instanceof NotHere ? "not-here" : "fail";
    return { edge, case: one.name, result, reason: messageOf(error), ...about };
  }
}
