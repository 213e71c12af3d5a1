import type { CudaSchedule } from "../cuda/device_flags.ts";
import { oneOf, optional, requestIn, whole } from "./check.ts";
import { factsIn, rowsOf, type Rule } from "./facts.ts";
import { advisorRow, type AdvisorRowId, type Caution, cautionOf, quoted } from "./rows/mod.ts";
import { type CudaDeviceTraits, deviceIn } from "./traits.ts";

/** A flag of cudaSetDeviceFlags that says how a CPU thread waits for the GPU. */
export type SyncFlag = `cudaDeviceSchedule${"Auto" | "Spin" | "Yield" | "BlockingSync"}`;

/** What matters most about waiting: a quick end, little power, time for other CPU threads, or the platform's best. */
export type SyncGoal = "latency" | "power" | "threads" | "platform";

/** How to wait, and for which GPU. */
export interface SyncRequest {
  /** What matters most; `"platform"` by default. */
  readonly favour?: SyncGoal;
  /** The GPU. */
  readonly device: CudaDeviceTraits;
  /** The CUDA version as cudaRuntimeGetVersion returns it: 12040 is 12.4; 10.1 or later by default. */
  readonly cudaVersion?: number;
}

/** Another flag, and what it would cost. */
export interface OtherSyncFlag {
  /** The flag. */
  readonly flag: SyncFlag;
  /** What it would cost, in our own words. */
  readonly cost: string;
  /** The row that says so. */
  readonly row: AdvisorRowId;
}

/** How to wait for the GPU. */
export interface SyncAdvice {
  /** The flag for cudaSetDeviceFlags; Auto is the default and needs no call. */
  readonly flag: SyncFlag;
  /** samepage's call that opens a device so, before anything else in the process uses it. */
  readonly call: string;
  /** The rows that decided, in order. */
  readonly rules: readonly AdvisorRowId[];
  /** Why, in our own words, with the sections. */
  readonly why: string;
  /** The other flags, and what they would cost. */
  readonly otherwise: readonly OtherSyncFlag[];
  /** What to look out for. */
  readonly cautions: readonly Caution[];
}

const FLAGS: Readonly<Record<SyncFlag, { schedule: CudaSchedule; cost: AdvisorRowId }>> = {
  cudaDeviceScheduleAuto: { schedule: "auto", cost: "cuda/cudaSetDeviceFlags/auto" },
  cudaDeviceScheduleSpin: { schedule: "spin", cost: "cuda/cudaSetDeviceFlags/spin" },
  cudaDeviceScheduleYield: { schedule: "yield", cost: "cuda/cudaSetDeviceFlags/yield" },
  cudaDeviceScheduleBlockingSync: { schedule: "blocking", cost: "003/3.5/blocking" },
};

/** The CUDA version in which each platform got a default of its own. */
const OWN_DEFAULTS = 10_010;

/** The flag for each goal. The document names no goal for Yield: that is in the API's reference, to which it points. */
const GOALS: Readonly<Record<SyncGoal, SyncFlag>> = {
  latency: "cudaDeviceScheduleSpin",
  power: "cudaDeviceScheduleBlockingSync",
  threads: "cudaDeviceScheduleYield",
  platform: "cudaDeviceScheduleAuto",
};

const RULES: readonly Rule[] = [
  { row: "003/3.5/spin", when: ["favour latency"] },
  { row: "003/3.5/blocking", when: ["favour power"] },
  { row: "cuda/cudaSetDeviceFlags/yield", when: ["favour threads"] },
  { row: "003/3.5/platform-default", when: ["favour platform", "!before CUDA 10.1"] },
  { row: "cuda/cudaSetDeviceFlags/auto", when: ["favour platform", "!before CUDA 10.1"] },
  { row: "003/3.5/blocking-before-10.1", when: ["favour platform", "before CUDA 10.1", "igpu"] },
  { row: "cuda/cudaSetDeviceFlags/auto", when: ["favour platform", "before CUDA 10.1", "!igpu"] },
];

const REQUEST = {
  favour: optional(oneOf(Object.keys(GOALS) as SyncGoal[]), "platform"),
  device: deviceIn,
  cudaVersion: optional(whole(1000), OWN_DEFAULTS),
};

/**
 * How a CPU thread waits for the GPU (CUDA for Tegra, §3.5, which says cudaDeviceBlockingSync for today's
 * cudaDeviceScheduleBlockingSync; and the reference of cudaSetDeviceFlags, to which it points).
 *
 * @throws {ArgumentError} for a wrong request.
 *
 * @example
 * ```ts
 * import { adviseSync } from "@samepage/interop/advisor";
 *
 * const orin = {
 *   integrated: true,
 *   computeCapability: { major: 8, minor: 7 },
 *   system: "tegra",
 *   canMapHostMemory: true,
 *   hostRegisterSupported: true,
 *   managedMemory: true,
 *   concurrentManagedAccess: false,
 *   pageableMemoryAccess: false,
 * } as const;
 * console.log(adviseSync({ device: orin, favour: "latency" }).flag); // cudaDeviceScheduleSpin
 * console.log(adviseSync({ device: orin }).flag); // cudaDeviceScheduleAuto
 * ```
 */
export function adviseSync(request: SyncRequest): SyncAdvice {
  const { favour, device, cudaVersion } = requestIn(request, REQUEST);
  const flag = GOALS[favour];
  const facts = [
    ...device,
    `favour ${favour}` as const,
    ...factsIn({ "before CUDA 10.1": cudaVersion < OWN_DEFAULTS }),
  ];
  const rules = rowsOf(RULES, new Set(facts));
  const others = (Object.keys(FLAGS) as SyncFlag[]).filter((other) => other !== flag);
  return Object.freeze({
    flag,
    call: `CudaContext.open({ schedule: "${FLAGS[flag].schedule}" })`,
    rules,
    why: quoted(rules),
    otherwise: others.map((other) => {
      const row = FLAGS[other].cost;
      return { flag: other, cost: advisorRow(row).says, row };
    }),
    cautions: flag === "cudaDeviceScheduleSpin" ? [cautionOf("cuda/cudaSetDeviceFlags/spin")] : [],
  });
}
