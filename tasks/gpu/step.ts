import type { Job } from "./job.ts";

/** What came of a step: `"not here"` where what it needs is not on the machine. */
export type Verdict = "green" | "red" | "not here";

/** How a step went. */
export interface Outcome {
  readonly verdict: Verdict;
  /** What it came to, in a few words: `"41 passed, 2 not here"`. */
  readonly counts: string;
  /** What failed, a line each. */
  readonly failures?: readonly string[];
  /** What is worth knowing though it is not a failure, a line each. */
  readonly remarks?: readonly string[];
}

/** A part of the run. */
export interface Step {
  /** What `--only=` calls it. */
  readonly name: string;
  /** What it does. */
  readonly what: string;
  /** Seconds that it may take at most. */
  readonly limit: number;
  /** When it runs: steps of one stage run beside each other, and the stages one after the other. */
  readonly stage: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;
  /** True where it runs only if `--only=` names it: the others fill the time. */
  readonly onlyIfNamed?: true;
  /** Runs it. */
  run(job: Job): Promise<Outcome>;
}

/** The outcome of several parts of a step. */
export function together(parts: readonly Outcome[]): Outcome {
  return {
    verdict: parts.every(({ verdict }) => verdict === "green") ? "green" : "red",
    counts: parts.map(({ counts }) => counts).join("; "),
    failures: parts.flatMap(({ failures = [] }) => failures),
    remarks: parts.flatMap(({ remarks = [] }) => remarks),
  };
}
