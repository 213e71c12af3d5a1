import type { Comparison } from "../harness/goal.ts";
import type { GrowthResult } from "../harness/growth.ts";
import type { FigureResult, WayResult } from "../harness/result.ts";
import type { Summary } from "../harness/statistics.ts";

const UNITS = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]] as const;

/** `5.67 µs`. */
export function time(nanoseconds: number): string {
  const [unit, size] = UNITS.findLast(([, size]) => Math.abs(nanoseconds) >= size) ?? UNITS[0];
  return `${threeDigits(nanoseconds / size)} ${unit}`;
}

/** A way's name, what it moves, and how long processors work for it. */
export function wayName({ name, bytesMoved, cpu }: WayResult): string {
  const facts = [
    ...bytesMoved === undefined ? [] : [`${bytes(bytesMoved)} moved`],
    ...cpu === undefined ? [] : [`${time(cpu)} of CPU`],
  ];
  return facts.length === 0 ? name : `${name} (${facts.join(", ")})`;
}

function bytes(count: number): string {
  return count === 0 ? "0 bytes" : `${threeDigits(count / 1e6)} MB`;
}

/** The middle half: `5.60 µs – 5.81 µs`. */
export function middleHalf({ p25, p75 }: Summary): string {
  return `${time(p25)} – ${time(p75)}`;
}

/** How many times the reference, and the middle half of that: `1.02 × (0.97 – 1.10)`, `55 × faster (50 – 61)`. */
export function ratio({ ratio: { median, p25, p75 } }: Comparison): string {
  if (median < 0.5) return `${threeDigits(1 / median)} × faster (${threeDigits(1 / p75)} – ${threeDigits(1 / p25)})`;
  return `${threeDigits(median)} × (${threeDigits(p25)} – ${threeDigits(p75)})`;
}

/** What it takes more than the reference: `+ 4.2 µs`. */
export function extra({ extra: { median } }: Comparison): string {
  return `${median < 0 ? "−" : "+"} ${time(Math.abs(median))}`;
}

/** A goal, and what became of it: a missed one is marked, and that is all. */
export function verdict({ goal }: FigureResult): string {
  if (goal === undefined) return "";
  return `${goal.text}: ${goal.met === null ? "not measured" : outcome(goal.met)}`;
}

/** One gauge of a growth, for a row: its name, before and after, the growth, and whether that is within bounds. */
export function gaugeCells({ name, unit, most, before, after }: GrowthResult["gauges"][number]): string[] {
  const digits = unit === "" ? 0 : 1;
  const [from, to, more] = [before, after, after - before].map((n) => n.toFixed(digits));
  const withUnit = (n: string) => `${n} ${unit}`.trimEnd();
  return [
    name,
    withUnit(from),
    withUnit(to),
    withUnit(more),
    `≤ ${withUnit(String(most))}: ${outcome(after - before <= most)}`,
  ];
}

function outcome(met: boolean): string {
  return met ? "reached" : "MISSED";
}

function threeDigits(n: number): string {
  const size = Math.abs(n);
  return n.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0);
}
