import type { GrowthResult } from "../harness/growth.ts";
import type { Effort } from "../harness/measure.ts";
import type { FigureResult } from "../harness/result.ts";
import type { Machine } from "./machine.ts";

/** All of one run: what the JSON beside the table holds. */
export interface Record {
  readonly machine: Machine;
  readonly effort: Effort;
  readonly figures: readonly FigureResult[];
  readonly growths: readonly GrowthResult[];
}
