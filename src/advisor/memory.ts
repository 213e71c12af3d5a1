import { callOf } from "./call.ts";
import type { Caution } from "./caution.ts";
import { cautionsFor } from "./cautions.ts";
import { costOf, type OtherKind } from "./costs.ts";
import { type ExcludedKind, excludedKinds } from "./exclusions.ts";
import { type AllocationFlag, flagsOf } from "./flags.ts";
import { ADVISED_KINDS, type AdvisedFunctions, type AdvisedKind, memoryFunctions } from "./kind.ts";
import { MEMORY_RULES } from "./memory_rules.ts";
import { type AdviseRequest, type Situation, situationIn } from "./request.ts";
import { type AdvisorRowId, quoted } from "./rows/mod.ts";
import { type Staging, stagingOf } from "./staging.ts";

/** Which memory to use, and why. */
export interface MemoryAdvice {
  /** The kind of memory. */
  readonly kind: AdvisedKind;
  /** The flags to allocate or register it with, by CUDA's names; none for device and pageable memory. */
  readonly flags: readonly AllocationFlag[];
  /** By which function it is made, and by which alone it goes back; missing for a buffer that stays as it is. */
  readonly functions?: AdvisedFunctions;
  /**
   * The call of samepage's that makes it, its shape and dtype left out: `"cuda.pinned.allocate({ writeCombined: true })"`;
   * missing for a buffer that stays as it is.
   */
  readonly call?: string;
  /**
   * Flags that the documents have cudaSetDeviceFlags set before the context is created. Since CUDA 3.2 every context maps
   * memory of the host, and there is nothing to do: `CudaContext.open()` does all of it.
   */
  readonly deviceFlags: readonly "cudaDeviceMapHost"[];
  /** What the CPU uses instead, and the bytes are copied from and to; missing where nothing has to be copied. */
  readonly staging?: Staging;
  /** The rows that decided, in order: of the kind first, then of flags and functions. */
  readonly rules: readonly AdvisorRowId[];
  /** Why this kind, in our own words, with the sections. */
  readonly why: string;
  /** What the other kinds would cost that could be used as well. */
  readonly otherwise: readonly OtherKind[];
  /** The kinds that could not be used, and why. */
  readonly excluded: readonly ExcludedKind[];
  /** What to look out for. */
  readonly cautions: readonly Caution[];
}

/**
 * Which kind of CUDA memory to use for a buffer. It asks no GPU: what it has to know of one is in `device`.
 *
 * The rules are those of NVIDIA's "CUDA for Tegra" (§2 and §3), and of an article about zero copy (002). For a discrete
 * GPU beside another CPU than a Tegra's the former says little, and points to NVIDIA's Best Practices Guide. Every
 * answer names its rows: {@link advisorRow} shows them.
 *
 * @throws {ArgumentError} where the request is wrong; `argument` names the field.
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
  const situation = situationIn(request);
  const excluded = excludedKinds(situation);
  const closed = new Set(excluded.map(({ kind }) => kind));
  const { kind, rules } = decide(situation, excluded);

  const { flags, rules: flagRules } = flagsOf(kind, "in-place", situation);
  const asItIs = kind === "pageable" && situation.existing;
  const copied = kind === "device" && situation.cpu !== "none";
  const staging = copied ? stagingOf(situation, closed) : undefined;
  const prerequisite = prerequisiteOf(kind);
  const functions = asItIs ? undefined : memoryFunctions(kind);
  const others = ADVISED_KINDS.filter((other) => other !== kind && !closed.has(other));
  return Object.freeze({
    kind,
    flags,
    ...(functions === undefined ? {} : { functions, call: callOf(kind, flags) }),
    deviceFlags: prerequisite === undefined ? [] : ["cudaDeviceMapHost"] as const,
    ...(staging === undefined ? {} : { staging }),
    rules: [
      ...new Set([...rules, ...flagRules, ...some(prerequisite), ...some(functions?.row), ...staging?.rules ?? []]),
    ],
    why: quoted(rules),
    otherwise: others.map((other) => costOf(other, situation)),
    excluded,
    cautions: cautionsFor(situation, { kind, flags: [...flags, ...staging?.flags ?? []], rules, closed }),
  });
}

/** A kind, and the rows that led to it. */
interface Decision {
  readonly kind: AdvisedKind;
  readonly rules: readonly AdvisorRowId[];
}

/**
 * The first rule that holds and whose kind can be had. Of kinds that cannot, the first rule that asks for each is told
 * before it, with what excludes the kind.
 */
function decide(situation: Situation, excluded: readonly ExcludedKind[]): Decision {
  const closed = new Map(excluded.map(({ kind, row }) => [kind, row]));
  const holding = MEMORY_RULES.filter(({ when }) => when(situation));
  const at = holding.findIndex(({ kind }) => !closed.has(kind)); // there is one: copying to the GPU is the last resort
  const first = holding.slice(0, at).filter(({ kind }, i) => holding.findIndex((it) => it.kind === kind) === i);
  const passed = first.flatMap(({ row, kind }) => [row, closed.get(kind)!]);
  const { row, kind: asked, also } = holding[at];
  const { kind, rules } = asked === "pinned" ? pinnedOrRegistered(situation, closed) : { kind: asked, rules: [] };
  return { kind, rules: [...new Set([...passed, row, ...also?.(situation) ?? [], ...rules])] };
}

/** New memory is allocated pinned; a buffer that exists already is registered, where that is possible. */
function pinnedOrRegistered(
  { existing }: Situation,
  closed: ReadonlyMap<AdvisedKind, AdvisorRowId>,
): Decision {
  if (!existing) return { kind: "pinned", rules: ["002/cudaHostAlloc/new"] };
  const refusal = closed.get("registered");
  if (refusal === undefined) return { kind: "registered", rules: ["002/cudaHostRegister/existing"] };
  return { kind: "pinned", rules: ["002/cudaHostRegister/existing", refusal, "003/3.2/pinned-instead"] };
}

/** What mapped memory needs to have been done before. */
function prerequisiteOf(kind: AdvisedKind): AdvisorRowId | undefined {
  if (kind === "pinned") return "002/cudaHostAlloc/prerequisite";
  return kind === "registered" ? "002/cudaHostRegister/prerequisite" : undefined;
}

function some<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}
