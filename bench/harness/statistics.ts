/** What many measurements of one thing come to. */
export interface Summary {
  /** The middle one. */
  readonly median: number;
  /** One in ten is at or below it. */
  readonly p10: number;
  /** One in four is at or below it. */
  readonly p25: number;
  /** Three in four are at or below it. */
  readonly p75: number;
  /** Nine in ten are at or below it. */
  readonly p90: number;
}

/** Sums measurements up. There has to be at least one. */
export function summarize(samples: readonly number[]): Summary {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (fraction: number) => quantile(sorted, fraction);
  return { median: at(0.5), p10: at(0.1), p25: at(0.25), p75: at(0.75), p90: at(0.9) };
}

/** Between two neighbours it is interpolated, as NumPy does by default. */
function quantile(sorted: readonly number[], fraction: number): number {
  const place = fraction * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}
