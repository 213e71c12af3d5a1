import type { Comparison } from "./goal.ts";
import type { Summary } from "./statistics.ts";

const UNITS = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]] as const;

/** `5.67 µs`. */
export function time(nanoseconds: number): string {
  const [unit, size] = UNITS.findLast(([, size]) => Math.abs(nanoseconds) >= size) ?? UNITS[0];
  return `${threeDigits(nanoseconds / size)} ${unit}`;
}

/** The middle half: `5.60 µs – 5.81 µs`. */
export function timeSpread({ p25, p75 }: Summary): string {
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

function threeDigits(n: number): string {
  const size = Math.abs(n);
  return n.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0);
}
