import * as constants from "../../ffi/cuda_runtime/constants.ts";
import { checks } from "./check.ts";
import type { CudaDevice } from "./device.ts";
import { check } from "./errors.ts";
import { cudart } from "./library.ts";
import { primaryState, setPrimaryFlags } from "./primary_context.ts";

/** How a thread waits for the device (cudaSetDeviceFlags). */
export type CudaSchedule = "auto" | "spin" | "yield" | "blocking";

const NAMES: { readonly [S in CudaSchedule]: ScheduleFlag } = {
  auto: "cudaDeviceScheduleAuto",
  spin: "cudaDeviceScheduleSpin",
  yield: "cudaDeviceScheduleYield",
  blocking: "cudaDeviceScheduleBlockingSync",
};

const BITS: readonly BitFlag[] = ["cudaDeviceMapHost", "cudaDeviceLmemResizeToMax", "cudaDeviceSyncMemops"];

/** A flag of a device's context, by CUDA's name. */
export type CudaDeviceFlag =
  | "cudaDeviceScheduleAuto"
  | "cudaDeviceScheduleSpin"
  | "cudaDeviceScheduleYield"
  | "cudaDeviceScheduleBlockingSync"
  | "cudaDeviceMapHost"
  | "cudaDeviceLmemResizeToMax"
  | "cudaDeviceSyncMemops";

type ScheduleFlag = Extract<CudaDeviceFlag, `cudaDeviceSchedule${string}`>;
type BitFlag = Exclude<CudaDeviceFlag, ScheduleFlag>;

export function scheduleIn(given: unknown): CudaSchedule | undefined {
  return given === undefined ? undefined : checks.nameIn(given, NAMES, "schedule");
}

/**
 * Sets the schedule of the primary context, before that is made.
 * @throws {ArgumentError} if the context exists with another schedule.
 */
export function setSchedule({ ordinal, name }: CudaDevice, schedule: CudaSchedule): void {
  const { flags, active } = primaryState(ordinal);
  const has = scheduleOf(flags);
  if (has === schedule) return;
  const others = flags & ~constants.cudaDeviceScheduleMask;
  if (!active) return setPrimaryFlags(ordinal, others | constants[NAMES[schedule]]);
  throw checks.wrong(
    "schedule",
    `the context of ${name} exists already, with "${has}": it cannot become "${schedule}".`,
    "Open it with that schedule before anything else in the process uses the device.",
    "cuDevicePrimaryCtxSetFlags",
  );
}

/** @throws {ArgumentError} if `mapHost` differs from the device's ability: a device maps host memory whenever it can. */
export function assertMapsHost({ attributes, name }: CudaDevice, mapHost: boolean): void {
  const can = attributes.canMapHostMemory === 1;
  if (mapHost === can) return;
  if (can) throw checks.wrong("mapHost", `every context of ${name} maps host memory.`);
  throw checks.wrong("mapHost", `${name} cannot map host memory (canMapHostMemory is 0).`, "Copy instead.");
}

export function currentFlags(): readonly CudaDeviceFlag[] {
  const out = new Uint32Array(1);
  check(cudart().cudaGetDeviceFlags(out), "cudaGetDeviceFlags");
  const schedule = scheduleOf(out[0]);
  return [
    ...schedule === undefined ? [] : [NAMES[schedule]],
    ...BITS.filter((name) => (out[0] & constants[name]) !== 0),
  ];
}

function scheduleOf(flags: number): CudaSchedule | undefined {
  const now = flags & constants.cudaDeviceScheduleMask;
  return (Object.keys(NAMES) as CudaSchedule[]).find((schedule) => constants[NAMES[schedule]] === now);
}
