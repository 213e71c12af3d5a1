import type { Row } from "../../tests/conformance/rows.ts";
import type { Verdict } from "./step.ts";
import type { Done, Summary } from "./summary.ts";

/** How a step went when it ran last on a kind of GPU. */
export interface LastOutcome {
  readonly step: string;
  readonly verdict: Verdict;
  /** `"41 passed, 2 not here"`. */
  readonly counts: string;
  readonly seconds: number;
  readonly commit: string;
  readonly date: string;
  /** The GPU, its driver and CUDA's versions. */
  readonly machine: string;
  readonly gpus: number;
  /** What failed, a line each; left out where nothing did. */
  readonly failures?: readonly string[];
}

/** A file of tests/gpu/outcomes. */
export interface Outcomes {
  readonly steps: readonly LastOutcome[];
}

/** The outcomes with those of a run in place of the same steps' last ones. */
export function withOutcomes(before: Outcomes | undefined, { steps, commit, date, machine, gpus }: Summary): Outcomes {
  const kept = (before?.steps ?? []).filter(({ step }) => !steps.some(({ name }) => name === step));
  const added = steps.map(({ name, verdict, counts, seconds, failures = [] }: Done) => ({
    ...{ step: name, verdict, counts, seconds: Math.round(seconds), commit, date, machine, gpus },
    ...(failures.length === 0 ? {} : { failures: failures.map((failure) => failure.split("\n")[0]) }),
  }));
  return { steps: [...kept, ...added].sort((a, b) => a.step < b.step ? -1 : 1) };
}

/** The text of a file of outcomes: a step a line. */
export function textOf({ steps }: Outcomes): string {
  return `{\n  "steps": [\n${steps.map((step) => `    ${JSON.stringify(step)}`).join(",\n")}\n  ]\n}\n`;
}

/** Rows that passed before and do not pass now, by their names. */
export function lostRows(before: readonly Row[], after: readonly Row[]): string[] {
  const passed = (rows: readonly Row[]) => rows.filter(({ result }) => result === "pass").map(nameOf);
  const now = new Set(passed(after));
  return passed(before).filter((row) => !now.has(row));
}

/** The ids of figures that were measured before, and are not now. */
export function lostFigures(before: readonly { id: string }[], after: readonly { id: string }[]): string[] {
  return before.map(({ id }) => id).filter((id) => !after.some((figure) => figure.id === id));
}

function nameOf({ edge, device, case: name }: Row): string {
  return `${edge}${device === undefined ? "" : ` (${device})`}  ${name}`;
}
