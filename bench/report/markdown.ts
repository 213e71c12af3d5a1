import type { Effort } from "../harness/measure.ts";
import type { FigureResult } from "../harness/result.ts";
import { extra, gaugeCells, middleHalf, ratio, time, verdict, wayName } from "./format.ts";
import type { Machine } from "./machine.ts";
import type { Record } from "./record.ts";

/** The table as a page, to be formatted; `json` is where the numbers lie beside it. */
export function markdownOf({ machine, effort, figures, growths }: Record, json: string): string {
  return [
    "# Results",
    "",
    writtenBy("deno task bench", "README.md", effort, json),
    "",
    ...table(["", ""], describe(machine)),
    "",
    ...timesOf(figures),
    "",
    "## What is left behind",
    ...growths.flatMap(({ title, count, gauges }) => [
      "",
      `${count.toLocaleString("en")} ${title}:`,
      "",
      ...table(["", "before", "after", "growth", "goal"], gauges.map(gaugeCells)),
    ]),
    "",
  ].join("\n");
}

/** What has written a page, how it was measured, and where the numbers lie. */
export function writtenBy(command: string, readme: string, effort: Effort, json: string): string {
  const { rounds, warmUpMs, batchMs } = effort;
  return `Written by \`${command}\`; [README.md](${readme}) says how it measures. ${rounds} rounds of batches of about ` +
    `${batchMs} ms, after ${warmUpMs} ms of each way to warm up; every number of every round is in [${json}](${json}).`;
}

/** The figures, as a section. */
export function timesOf(figures: readonly FigureResult[]): string[] {
  return [
    "## Times of one operation",
    "",
    "The middle half is where half of all rounds lie. The ratio and the difference are the medians of what was compared " +
    "round by round.",
    "",
    ...table(
      ["figure", "way", "median", "p10", "middle half", "ratio to the first", "difference", "goal"],
      figures.flatMap(figureRows),
    ),
  ];
}

/** The machine, as rows. */
export function describe(machine: Machine): string[][] {
  return [
    ["CPU", `${machine.cpu}, ${machine.cores} cores`],
    ["system", machine.system],
    ["Deno", machine.deno],
    machine.cuda === undefined ? ["OpenCL", machine.opencl ?? "none"] : ["GPU", machine.cuda],
    ["C", machine.cc ?? "none"],
    ["commit", machine.commit],
    ["date", `${machine.date} UTC; load ${machine.load.toFixed(2)} at the start`],
  ];
}

function figureRows(figure: FigureResult): string[][] {
  const rows = figure.ways.map((way) => {
    const { time: ns, against } = way;
    const beside = against === undefined ? ["", ""] : [ratio(against), extra(against)];
    return ["", wayName(way), time(ns.median), time(ns.p10), middleHalf(ns), ...beside, ""];
  });
  const missing = Object.entries(figure.missing).map((
    [name, why],
  ) => ["", name, `not here: ${why}`, "", "", "", "", ""]);
  const all = [...rows, ...missing];
  all[0][0] = figure.title;
  all[0][7] = verdict(figure);
  return all;
}

/** A table's lines. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const cells = [heading, ...rows].map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const line = (row: readonly string[]) => `| ${row.join(" | ")} |`;
  return [line(cells[0]), line(heading.map(() => "---")), ...cells.slice(1).map(line)];
}
