import type { Figure } from "./figure.ts";
import type { Comparison } from "./goal.ts";
import type { GrowthResult } from "./growth.ts";
import type { Measured } from "./measure.ts";
import { summarize, type Summary } from "./statistics.ts";

/** What one way of a figure came to. */
export interface WayResult {
  /** Whose way. */
  readonly name: string;
  /** Bytes that one operation moves between host and device, where the figure is about that. */
  readonly bytesMoved?: number;
  /** Nanoseconds that processors worked for one operation, where the figure is about that: the median. */
  readonly cpu?: number;
  /** Operations of one batch. */
  readonly count: number;
  /** Nanoseconds of one operation. */
  readonly time: Summary;
  /** Beside the reference; the reference itself has none. */
  readonly against?: Comparison;
  /** Nanoseconds of one operation, a number a round. */
  readonly samples: readonly number[];
}

/** What a figure came to. */
export interface FigureResult {
  /** What `--only=` calls it. */
  readonly id: string;
  /** What one operation is. */
  readonly title: string;
  /** The ways that are on this machine, the reference first. */
  readonly ways: readonly WayResult[];
  /** The ways that are not, and why. */
  readonly missing: Readonly<Record<string, string>>;
  /** What the figure is to reach, and whether it did; null where it was not measured. */
  readonly goal?: { readonly text: string; readonly met: boolean | null };
}

/** A line of run_file.ts. */
export type Result = { readonly figure: FigureResult } | { readonly growth: GrowthResult };

/** Compares every way with the first. */
export function resultOf({ id, title, goal, ways }: Figure, { samples, cpu, counts, missing }: Measured): FigureResult {
  const [reference, subject] = ways.map(({ name }) => name);
  const results = Object.entries(samples).map(([name, own]): WayResult => {
    const { bytesMoved } = ways.find((way) => way.name === name)!;
    const result = {
      name,
      ...(bytesMoved === undefined ? {} : { bytesMoved }),
      ...(cpu[name] === undefined ? {} : { cpu: summarize(cpu[name]).median }),
      count: counts[name],
      time: summarize(own),
      samples: own.map(Math.round),
    };
    if (name === reference || !(reference in samples)) return result;
    return { ...result, against: compare(own, samples[reference]) };
  });
  const judgedWay = results.find(({ name }) => name === subject);
  const met = judgedWay?.against === undefined ? null : goal?.met(judgedWay.against, judgedWay.time) ?? null;
  const judged = goal && { text: goal.text, met };
  return { id, title, ways: results, missing, ...(judged === undefined ? {} : { goal: judged }) };
}

function compare(own: readonly number[], reference: readonly number[]): Comparison {
  return {
    extra: summarize(own.map((ns, round) => ns - reference[round])),
    ratio: summarize(own.map((ns, round) => ns / reference[round])),
  };
}
