import { workOf } from "./cpu.ts";
import type { Figure } from "./figure.ts";
import { Missing, processes } from "./program.ts";
import type { Batch } from "./way.ts";

/** How long and how often. */
export interface Effort {
  /** Rounds of a batch of each way. */
  readonly rounds: number;
  /** Each way runs for so many milliseconds before anything is counted: V8 and drivers have compiled by then. */
  readonly warmUpMs: number;
  /** A batch takes about so many milliseconds. */
  readonly batchMs: number;
  /** How often work is repeated that is to leave nothing behind. */
  readonly repeats: number;
}

/** What was measured of one figure. */
export interface Measured {
  /** Nanoseconds of one operation, a number a round, by way. All have the same length. */
  readonly samples: Readonly<Record<string, readonly number[]>>;
  /** Nanoseconds that processors worked for one operation, likewise, where the figure is about that. */
  readonly cpu: Readonly<Record<string, readonly number[]>>;
  /** Operations of one batch, by way. */
  readonly counts: Readonly<Record<string, number>>;
  /** Why a way is not among them. */
  readonly missing: Readonly<Record<string, string>>;
}

/** Runs batches of all ways in turn, on one machine, so that what disturbs it disturbs all of them. */
export async function measureFigure(figure: Figure, effort: Effort): Promise<Measured> {
  const ways: { name: string; batch: Batch; count: number; samples: number[]; cpu: number[] }[] = [];
  const missing: Record<string, string> = {};
  for (const way of figure.ways) {
    try {
      const batch = await way.open();
      ways.push({ name: way.name, batch, count: await warmUp(batch, effort), samples: [], cpu: [] });
    } catch (error) {
      if (!(error instanceof Missing)) throw error;
      missing[way.name] = error.message;
    }
  }
  for (let round = 0; round < effort.rounds; round++) {
    // Each begins in turn, so that none always runs in the wake of the same other.
    for (let i = 0; i < ways.length; i++) {
      const { batch, count, samples, cpu } = ways[(i + round) % ways.length];
      const before = workOf(processes());
      samples.push(await batch(count) / count);
      cpu.push((workOf(processes()) - before) / count);
    }
  }
  return {
    samples: Object.fromEntries(ways.map(({ name, samples }) => [name, samples])),
    cpu: figure.cpu ? Object.fromEntries(ways.map(({ name, cpu }) => [name, cpu])) : {},
    counts: Object.fromEntries(ways.map(({ name, count }) => [name, count])),
    missing,
  };
}

/** Runs it for a while, so that it is as fast as it gets. Returns how many operations then make a batch. */
async function warmUp(batch: Batch, { warmUpMs, batchMs }: Effort): Promise<number> {
  const end = performance.now() + warmUpMs;
  const count = await calibrate(batch, batchMs);
  if (performance.now() >= end) return count; // an operation of seconds
  while (performance.now() < end) await batch(count);
  return await calibrate(batch, batchMs);
}

/** How many operations make a batch: more and more, until they take long enough. */
async function calibrate(batch: Batch, milliseconds: number): Promise<number> {
  const wanted = milliseconds * 1e6;
  await batch(1);
  for (let count = 1;;) {
    const spent = await batch(count);
    if (spent >= wanted) return count;
    // A guess by what was seen, but not by more than ten times: the first operations are slower.
    count = Math.ceil(count * Math.min(10, Math.max(1.2, wanted / spent)));
  }
}
