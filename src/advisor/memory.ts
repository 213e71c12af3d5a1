import { MEASURED_CAUTIONS } from "./claims.ts";
import { type Fact, type Facts, holding, holds, rowsOf } from "./facts.ts";
import {
  ADVISED_KINDS,
  type AdvisedFunctions,
  type AdvisedKind,
  type AllocationFlag,
  callOf,
  flagsOf,
  memoryFunctions,
} from "./kind.ts";
import { CAUTIONS, COSTS, EXCLUSIONS, MEMORY_RULES, STAGING } from "./memory_rules.ts";
import { type AdviseRequest, factsOf } from "./request.ts";
import { advisorRow, type AdvisorRowId, type Caution, cautionOf, quoted } from "./rows/mod.ts";

/** A kind that could be used instead, and what it would cost. */
export interface OtherKind {
  /** The kind. */
  readonly kind: AdvisedKind;
  /** What it would cost, in our own words. */
  readonly cost: string;
  /** The row that says so. */
  readonly row: AdvisorRowId;
}

/** A kind that cannot be used, and why. */
export interface ExcludedKind {
  /** The kind. */
  readonly kind: AdvisedKind;
  /** Why, in our own words. */
  readonly reason: string;
  /** The row that says so. */
  readonly row: AdvisorRowId;
}

/** The CPU's memory for copies, if the CPU cannot reach the advised memory itself. */
export interface Staging {
  /** The kind of memory. */
  readonly kind: Exclude<AdvisedKind, "device" | "managed">;
  /** The flags to allocate or register it with. */
  readonly flags: readonly AllocationFlag[];
  /** samepage's call that makes it, without shape and dtype; missing for a buffer that stays as it is. */
  readonly call?: string;
  /** The rows that ask for it. */
  readonly rules: readonly AdvisorRowId[];
}

/** Which memory to use, and why. */
export interface MemoryAdvice {
  /** The kind of memory. */
  readonly kind: AdvisedKind;
  /** The flags to allocate or register it with, by CUDA's names; none for device and pageable memory. */
  readonly flags: readonly AllocationFlag[];
  /** The functions that allocate and release it; missing for a buffer that stays as it is. */
  readonly functions?: AdvisedFunctions;
  /** samepage's call: `"cuda.pinned.allocate({ writeCombined: true })"`; left out for a buffer that stays. */
  readonly call?: string;
  /** The flags of cudaSetDeviceFlags in the documents. Since CUDA 3.2 every context maps host memory without them. */
  readonly deviceFlags: readonly "cudaDeviceMapHost"[];
  /** The memory that the CPU uses and copies to and from; missing if nothing has to be copied. */
  readonly staging?: Staging;
  /** The rows that decided, in order: about the kind first, then about flags and functions. */
  readonly rules: readonly AdvisorRowId[];
  /** Why this kind, in our own words, with the sections. */
  readonly why: string;
  /** The other kinds that could be used, and what they would cost. */
  readonly otherwise: readonly OtherKind[];
  /** The kinds that cannot be used, and why. */
  readonly excluded: readonly ExcludedKind[];
  /** What to look out for. */
  readonly cautions: readonly Caution[];
}

const PREREQUISITES: Readonly<Partial<Record<AdvisedKind, AdvisorRowId>>> = {
  pinned: "002/cudaHostAlloc/prerequisite",
  registered: "002/cudaHostRegister/prerequisite",
};

/**
 * Which kind of CUDA memory to use for a buffer. It queries no GPU: `device` describes one.
 *
 * The rules come from NVIDIA's "CUDA for Tegra" (§2 and §3) and an article about zero copy (002). The former says little about
 * discrete GPUs in other machines, and points to NVIDIA's Best Practices Guide. All advice names its rows; {@link advisorRow}
 * returns them.
 *
 * @throws {ArgumentError} for a wrong request; `argument` names the field.
 *
 * @example
 * ```ts
 * import { advise } from "@samepage/interop/advisor";
 *
 * const device = {
 *   integrated: false,
 *   computeCapability: { major: 9, minor: 0 },
 *   system: "other",
 *   canMapHostMemory: true,
 *   hostRegisterSupported: true,
 *   managedMemory: true,
 *   concurrentManagedAccess: true,
 *   pageableMemoryAccess: false,
 * } as const;
 * const frame = { size: 3840 * 2160 * 4, cpu: "read-write", gpu: "coalesced", device } as const;
 *
 * const once = advise(frame);
 * console.log(once.kind, once.flags); // pinned [ "cudaHostAllocMapped" ]
 * console.log(once.call); // cuda.pinned.allocate()
 *
 * const often = advise({ ...frame, repeats: 100 });
 * console.log(often.kind, often.staging?.kind); // device pinned
 * console.log(often.rules[0]); // best/zero-copy/once
 * ```
 */
export function advise(request: AdviseRequest): MemoryAdvice {
  const asked = factsOf(request);
  const excluded = excludedKinds(asked);
  const facts = including(asked, excluded.map(({ kind }) => `excluded ${kind}` as const));
  const { kind, rules } = decide(facts, excluded);

  const { flags, rules: flagRules } = flagsOf(kind, including(facts, ["in place"]));
  const staging = kind === "device" && !facts.has("cpu none") ? stagingOf(facts) : undefined;
  const made = kind === "pageable" && facts.has("existing")
    ? undefined
    : { functions: memoryFunctions(kind), call: callOf(kind, flags) };
  const prerequisite = PREREQUISITES[kind];
  const all = [...rules, ...flagRules, prerequisite, made?.functions.row, ...staging?.rules ?? []];
  const others = ADVISED_KINDS.filter((other) => other !== kind && !facts.has(`excluded ${other}`));
  const decided = including(facts, [
    `kind ${kind}`,
    ...[...flags, ...staging?.flags ?? []].map((flag) => `flag ${flag}` as const),
    ...rules.map((row) => `by ${row}` as const),
  ]);
  return Object.freeze({
    kind,
    flags,
    ...made,
    deviceFlags: prerequisite === undefined ? [] : ["cudaDeviceMapHost"] as const,
    ...(staging === undefined ? {} : { staging }),
    rules: [...new Set(all.filter((row) => row !== undefined))],
    why: quoted(rules),
    otherwise: others.map((other) => costOf(other, facts)),
    excluded,
    cautions: rowsOf([...CAUTIONS, ...MEASURED_CAUTIONS], decided).map(cautionOf),
  });
}

function including(facts: Facts, more: readonly Fact[]): Facts {
  return new Set([...facts, ...more]);
}

/** The kinds that cannot be used: device memory or pageable memory is always left. */
function excludedKinds(facts: Facts): ExcludedKind[] {
  return ADVISED_KINDS.flatMap((kind) => {
    const found = EXCLUSIONS.find((rule) => rule.kind === kind && holds(rule, facts));
    return found === undefined ? [] : [{ kind, reason: advisorRow(found.row).says, row: found.row }];
  });
}

interface Decision {
  readonly kind: AdvisedKind;
  readonly rules: readonly AdvisorRowId[];
}

/**
 * The first rule that holds and whose kind can be used; before it, the first rule for each kind that cannot be used.
 */
function decide(facts: Facts, excluded: readonly ExcludedKind[]): Decision {
  const closed = new Map(excluded.map(({ kind, row }) => [kind, row]));
  const rules = holding(MEMORY_RULES, facts);
  const at = rules.findIndex(({ kind }) => !closed.has(kind)); // the last rule, copying to the GPU, always holds
  const first = rules.slice(0, at).filter(({ kind }, i) => rules.findIndex((it) => it.kind === kind) === i);
  const passed = first.flatMap(({ row, kind }) => [row, closed.get(kind)!]);
  const { row, kind: asked, also = [] } = rules[at];
  const decision = asked === "pinned" ? pinnedOrRegistered(facts, closed) : { kind: asked, rules: [] };
  return { kind: decision.kind, rules: [...new Set([...passed, row, ...rowsOf(also, facts), ...decision.rules])] };
}

/** New memory is allocated pinned. A buffer that exists already is registered, where that is possible. */
function pinnedOrRegistered(facts: Facts, closed: ReadonlyMap<AdvisedKind, AdvisorRowId>): Decision {
  if (!facts.has("existing")) return { kind: "pinned", rules: ["002/cudaHostAlloc/new"] };
  const refusal = closed.get("registered");
  if (refusal === undefined) return { kind: "registered", rules: ["002/cudaHostRegister/existing"] };
  return { kind: "pinned", rules: ["002/cudaHostRegister/existing", refusal, "003/3.2/pinned-instead"] };
}

/** What the CPU uses, to be copied to and from device memory. */
function stagingOf(facts: Facts): Staging {
  const { kind, row } = STAGING.find((rule) => holds(rule, facts))!;
  const { flags, rules } = flagsOf(kind, facts);
  const asItIs = kind === "pageable" && facts.has("existing");
  return { kind, flags, ...(asItIs ? {} : { call: callOf(kind, flags) }), rules: [row, ...rules] };
}

function costOf(kind: AdvisedKind, facts: Facts): OtherKind {
  const { row } = COSTS[kind].find((rule) => holds(rule, facts))!;
  return { kind, cost: advisorRow(row).says, row };
}
