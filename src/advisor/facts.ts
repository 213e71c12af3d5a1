/**
 * The engine: a set of known facts. A rule holds if the facts that it names are known. Rules are data, each with the row
 * of the document that states it.
 *
 * @module
 */
import type { AdvisedKind, AllocationFlag } from "./kind.ts";
import type { CpuPattern, GpuPattern } from "./request.ts";
import type { AdvisorRowId, RowId } from "./rows/mod.ts";
import type { SyncGoal } from "./sync.ts";

export type DeviceFact =
  | "tegra" // the machine is a Tegra
  | "igpu" // the GPU shares the CPU's DRAM
  | "coherent" // the CPU caches pinned memory
  | "qnx"
  | "maps host memory"
  | "registers"
  | "registers read-only"
  | "has managed memory"
  | "concurrent access" // CPU and GPU may use managed memory at the same time
  | "reaches pageable memory";

export type RequestFact =
  | `cpu ${CpuPattern}`
  | "cpu fills" // before the GPU uses it
  | "cpu reads" // what the GPU has written
  | `gpu ${GpuPattern}`
  | "gpu writes"
  | "gpu only reads" // promised; neither of the two where nothing is said
  | "several passes"
  | "repetitive" // the GPU comes back to the same bytes, in one pass or by several
  | "small"
  | "existing"
  | "several contexts"
  | "safety"
  | "one stream"
  | `favour ${SyncGoal}`
  | "before CUDA 10.1";

export type DecidedFact =
  | `excluded ${AdvisedKind}`
  | `kind ${AdvisedKind}`
  | `flag ${AllocationFlag}`
  | `by ${AdvisorRowId}`
  | "in place"; // kernels use the memory itself

export type Fact = DeviceFact | RequestFact | DecidedFact;

export type Facts = ReadonlySet<Fact>;

/** A statement of a document, and the facts under which it holds. */
export interface Rule {
  readonly row: RowId;
  /** Facts that must be known, or with `!` must not be; without any, the rule always holds. */
  readonly when?: readonly (Fact | `!${Fact}`)[];
}

export function holds({ when = [] }: Rule, facts: Facts): boolean {
  return when.every((it) => it.startsWith("!") ? !facts.has(it.slice(1) as Fact) : facts.has(it as Fact));
}

export function holding<R extends Rule>(rules: readonly R[], facts: Facts): R[] {
  return rules.filter((rule) => holds(rule, facts));
}

export function rowsOf(rules: readonly Rule[], facts: Facts): RowId[] {
  return holding(rules, facts).map(({ row }) => row);
}

export function factsIn(named: { readonly [F in Fact]?: boolean }): Fact[] {
  return (Object.keys(named) as Fact[]).filter((name) => named[name]);
}
