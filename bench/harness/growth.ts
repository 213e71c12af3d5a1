/** Something that has to stay as it is. */
export interface Gauge {
  /** What it counts. */
  readonly name: string;
  /** In what. */
  readonly unit: string;
  /** How much more there may be afterwards: what the machine's own allocators keep is not ours to say. */
  readonly most: number;
  /** How much there is now. */
  read(): number;
}

/** Work that is repeated very often and is to leave nothing behind. */
export interface Growth {
  /** A name for `--only=`. */
  readonly id: string;
  /** What is repeated. */
  readonly title: string;
  /** Makes what repeats it, in one synchronous loop. */
  repeat(): (count: number) => void;
  /** What is looked at, before and after. */
  readonly gauges: readonly Gauge[];
}

/** What it came to. */
export interface GrowthResult {
  /** What `--only=` calls it. */
  readonly id: string;
  /** What was repeated. */
  readonly title: string;
  /** How often. */
  readonly count: number;
  /** Before and after, by gauge. */
  readonly gauges: readonly (Omit<Gauge, "read"> & { readonly before: number; readonly after: number })[];
}

/** What has been declared so far. */
export const growths: Growth[] = [];

/** Declares it, for `deno task bench`. */
export function growth(growth: Growth): void {
  growths.push(growth);
}

/**
 * Repeats it `count` times, after as many to warm up: V8's heap grows for so long. Garbage is collected before each look,
 * without leaving the loop: what V8 keeps for as long as a job runs is counted.
 */
export function measureGrowth({ id, title, repeat, gauges }: Growth, count: number): GrowthResult {
  const run = repeat();
  const look = () => {
    (globalThis as { gc?: () => void }).gc?.();
    return gauges.map((gauge) => gauge.read());
  };
  run(count);
  const before = look();
  run(count);
  const after = look();
  return {
    id,
    title,
    count,
    gauges: gauges.map(({ name, unit, most }, i) => ({ name, unit, most, before: before[i], after: after[i] })),
  };
}
