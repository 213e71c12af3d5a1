import type { Outcome } from "./step.ts";

/** How a step went, and how long it took. */
export interface Done extends Outcome {
  readonly name: string;
  readonly seconds: number;
}

/** What summary.json holds. */
export interface Summary {
  readonly commit: string;
  /** The day and time of its end, in UTC. */
  readonly date: string;
  /** The GPU, its driver and CUDA's versions. */
  readonly machine: string;
  /** How many GPUs. */
  readonly gpus: number;
  readonly minutes: number;
  readonly green: boolean;
  readonly steps: readonly Done[];
}
