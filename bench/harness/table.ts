import { extra, ratio, time, timeSpread } from "./format.ts";
import type { FigureResult } from "./result.ts";

/** In words: a missed goal is marked, and nothing else. */
export function verdict({ goal }: FigureResult): string {
  if (goal === undefined) return "";
  const outcome = goal.met === null ? "not measured" : goal.met ? "reached" : "MISSED";
  return `${goal.text}: ${outcome}`;
}

/** The heading of {@linkcode rowsOf}. */
export const HEADING: string = row(["", "median", "p10", "middle half", "against the first"]);

/** A figure for a terminal of 100 columns: its title and goal, and a line for each way. */
export function rowsOf(figure: FigureResult): string[] {
  const goal = verdict(figure);
  return [
    figure.title + (goal === "" ? "" : `  [${goal}]`),
    ...figure.ways.map(({ name, time: ns, against }) =>
      row([
        `  ${name}`,
        time(ns.median),
        time(ns.p10),
        timeSpread(ns),
        against === undefined ? "" : `${ratio(against)}, ${extra(against)}`,
      ])
    ),
    ...Object.entries(figure.missing).map(([name, reason]) => `  ${name}: not here: ${reason}`),
  ];
}

function row([name, median, p10, spread, against]: readonly string[]): string {
  return `${name.padEnd(20)}${median.padStart(9)}${p10.padStart(9)}${spread.padStart(20)}  ${against}`.trimEnd();
}
