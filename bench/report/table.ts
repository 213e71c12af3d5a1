import type { GrowthResult } from "../harness/growth.ts";
import type { FigureResult } from "../harness/result.ts";
import { extra, gaugeCells, middleHalf, ratio, time, verdict, wayName } from "./format.ts";

/** The widths of the columns: all of them, and a title, fit a terminal of 120 columns. */
const WIDTHS = [34, 10, 10, 22];

/** The heading of {@linkcode figureLines}. */
export const HEADING: string = line(["", "median", "p10", "middle half", "against the first"]);

/** A figure for a terminal: its title and goal, and a line for each way. */
export function figureLines(figure: FigureResult): string[] {
  return [
    "",
    titled(figure.title, verdict(figure)),
    ...figure.ways.map((way) => {
      const { time: ns, against } = way;
      const beside = against === undefined ? "" : `${ratio(against)}, ${extra(against)}`;
      return line([`  ${wayName(way)}`, time(ns.median), time(ns.p10), middleHalf(ns), beside]);
    }),
    ...Object.entries(figure.missing).map(([name, reason]) => `  ${name}: not here: ${reason}`),
  ];
}

/** What grew, for a terminal. */
export function growthLines({ title, count, gauges }: GrowthResult): string[] {
  return [
    "",
    titled(`${count.toLocaleString("en")} ${title}`, "before, after, growth"),
    ...gauges.map((gauge) => {
      const [name, before, after, more, verdict] = gaugeCells(gauge);
      return line([`  ${name}`, before, after, more, verdict]);
    }),
  ];
}

function titled(title: string, remark: string): string {
  return remark === "" ? title : `${title} [${remark}]`;
}

function line([first, ...rest]: readonly string[]): string {
  const cells = rest.map((cell, i) => i + 1 < WIDTHS.length ? cell.padStart(WIDTHS[i + 1]) : `  ${cell}`);
  return (first.padEnd(WIDTHS[0]) + cells.join("")).trimEnd();
}
