import type { Summary } from "./statistics.ts";

/** One way beside the figure's reference, judged round by round: what disturbs the machine disturbs both. */
export interface Comparison {
  /** Nanoseconds more than the reference took. */
  readonly extra: Summary;
  /** How many times as long as the reference. */
  readonly ratio: Summary;
}

/** What a figure is to reach. */
export interface Goal {
  /** In words. */
  readonly text: string;
  /** Is it reached? `time` is the way's own, in nanoseconds. */
  met(comparison: Comparison, time: Summary): boolean;
}

/** At most `times` as long as the reference. */
export function atMost(times: number): Goal {
  return { text: `≤ ${times.toFixed(2)} ×`, met: ({ ratio }) => ratio.median <= times };
}

/** At most so many microseconds longer than the reference. */
export function atMostMore(microseconds: number): Goal {
  return { text: `≤ + ${microseconds} µs`, met: ({ extra }) => extra.median <= 1000 * microseconds };
}

/** At least `times` as fast as the reference. */
export function faster(times: number): Goal {
  return { text: `≥ ${times} × faster`, met: ({ ratio }) => 1 / ratio.median >= times };
}

/** At least so much of what the reference gets through in the same time. */
export function throughput(part: number): Goal {
  return { text: `≥ ${part} of its throughput`, met: ({ ratio }) => 1 / ratio.median >= part };
}

/** Below a figure of record, in nanoseconds, which is somebody else's and was not measured in this run. */
export function below(nanoseconds: number, whose: string): Goal {
  return { text: `< ${nanoseconds} ns (${whose})`, met: (_, { median }) => median < nanoseconds };
}

/** No slower than the reference, but for noise: in one round of ten at least it was as fast. */
export function withinNoise(): Goal {
  return { text: "within noise", met: ({ ratio }) => ratio.p10 <= 1 };
}

/** One of both. */
export function either(a: Goal, b: Goal): Goal {
  return { text: `${a.text} or ${b.text}`, met: (...of) => a.met(...of) || b.met(...of) };
}
