import type { Names } from "../core/argument.ts";
import { type Caution, cautionOf } from "./caution.ts";
import { openCallOf } from "./call.ts";
import { fields, oneOf, whole } from "./check.ts";
import { advisorRow, type AdvisorRowId, quoted } from "./rows/mod.ts";
import { type CudaDeviceTraits, type Device, deviceIn } from "./traits.ts";

/** A flag of cudaSetDeviceFlags that says how the CPU's thread waits. */
export type SyncFlag = `cudaDeviceSchedule${"Auto" | "Spin" | "Yield" | "BlockingSync"}`;

/**
 * What a program wants of its waits: to end as soon as they can, to take little power, to leave time to other threads
 * of the CPU, or what is best on the platform at hand.
 */
export type SyncGoal = "latency" | "power" | "threads" | "platform";

/** Who waits, and for what. */
export interface SyncRequest {
  /** What matters most; `"platform"` by default. */
  readonly favour?: SyncGoal;
  /** The GPU. */
  readonly device: CudaDeviceTraits;
  /** As cudaRuntimeGetVersion tells it, 12040 for 12.4; one since 10.1 by default. */
  readonly cudaVersion?: number;
}

const FIELDS: Names<SyncRequest> = { favour: true, device: true, cudaVersion: true };

/** Another flag, and what it would cost. */
export interface OtherSyncFlag {
  /** The flag. */
  readonly flag: SyncFlag;
  /** What it would cost, in our own words. */
  readonly cost: string;
  /** The row that says so. */
  readonly row: AdvisorRowId;
}

/** How to wait for the device. */
export interface SyncAdvice {
  /** The flag for cudaSetDeviceFlags; Auto is the default, and needs no call. */
  readonly flag: SyncFlag;
  /** The call of samepage's that opens a device so, before anything else in the process uses it. */
  readonly call: string;
  /** The rows that decided, in order. */
  readonly rules: readonly AdvisorRowId[];
  /** Why, in our own words, with the sections. */
  readonly why: string;
  /** What the others would cost. */
  readonly otherwise: readonly OtherSyncFlag[];
  /** What to look out for. */
  readonly cautions: readonly Caution[];
}

/** The CUDA in which each platform got a default of its own. */
const OWN_DEFAULTS = 10_010;

/** The flag for each goal. The document names no goal for Yield: that is the API reference's, to which it points. */
const GOALS: Readonly<Record<SyncGoal, { readonly flag: SyncFlag; readonly row?: AdvisorRowId }>> = {
  latency: { flag: "cudaDeviceScheduleSpin", row: "003/3.5/spin" },
  power: { flag: "cudaDeviceScheduleBlockingSync", row: "003/3.5/blocking" },
  threads: { flag: "cudaDeviceScheduleYield", row: "cuda/cudaSetDeviceFlags/yield" },
  platform: { flag: "cudaDeviceScheduleAuto" },
};

const COSTS: Readonly<Record<SyncFlag, AdvisorRowId>> = {
  cudaDeviceScheduleAuto: "cuda/cudaSetDeviceFlags/auto",
  cudaDeviceScheduleSpin: "cuda/cudaSetDeviceFlags/spin",
  cudaDeviceScheduleYield: "cuda/cudaSetDeviceFlags/yield",
  cudaDeviceScheduleBlockingSync: "003/3.5/blocking",
};

/**
 * How the CPU's thread waits for a device (CUDA for Tegra, §3.5, which says cudaDeviceBlockingSync where today's name
 * is cudaDeviceScheduleBlockingSync; and the reference of cudaSetDeviceFlags, to which it points).
 *
 * @throws {ArgumentError} where the request is wrong.
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
  const { favour = "platform", device, cudaVersion = OWN_DEFAULTS } = fields(request, FIELDS, "request");
  const goal = oneOf(favour, Object.keys(GOALS) as SyncGoal[], "favour");
  const traits = deviceIn(device, "device");
  const version = whole(cudaVersion, "cudaVersion", 1000);
  const { flag, row } = GOALS[goal];
  const rules = row === undefined ? platformRules(traits, version) : [row];
  const others = (Object.keys(COSTS) as SyncFlag[]).filter((other) => other !== flag);
  return Object.freeze({
    flag,
    call: openCallOf(flag),
    rules,
    why: quoted(rules),
    otherwise: others.map((other) => ({ flag: other, cost: advisorRow(COSTS[other]).says, row: COSTS[other] })),
    cautions: flag === "cudaDeviceScheduleSpin" ? [cautionOf("cuda/cudaSetDeviceFlags/spin")] : [],
  });
}

/** What the default does. */
function platformRules({ place }: Device, version: number): AdvisorRowId[] {
  if (version >= OWN_DEFAULTS) return ["003/3.5/platform-default", "cuda/cudaSetDeviceFlags/auto"];
  return [place === "igpu" ? "003/3.5/blocking-before-10.1" : "cuda/cudaSetDeviceFlags/auto"];
}
