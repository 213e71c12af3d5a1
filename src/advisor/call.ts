import type { CudaSchedule } from "../cuda/device_flags.ts";
import type { ManagedAttachment } from "../cuda/memory/managed.ts";
import type { AllocationFlag } from "./flags.ts";
import type { AdvisedKind } from "./kind.ts";
import type { AttachFlag } from "./rows/table2.ts";
import type { SyncFlag } from "./sync.ts";

/** The option of samepage's that stands for a flag; the others are what it sets by itself. */
const OPTIONS: Readonly<Partial<Record<AllocationFlag, string>>> = {
  cudaHostAllocWriteCombined: "writeCombined: true",
  cudaHostRegisterReadOnly: "readOnly: true",
  cudaMemAttachHost: 'attach: "host"',
};

const CALLS: Readonly<Record<AdvisedKind, readonly [fn: string, ...args: string[]]>> = {
  device: ["cuda.allocate"],
  pageable: ["host.allocate"],
  pinned: ["cuda.pinned.allocate"],
  registered: ["cuda.register", "tensor"],
  managed: ["cuda.managed.allocate"],
};

/** What samepage calls each flag of managed memory. */
const ATTACHMENTS: Readonly<Record<AttachFlag, ManagedAttachment>> = {
  cudaMemAttachGlobal: "global",
  cudaMemAttachHost: "host",
  cudaMemAttachSingle: "single",
};

/** What samepage calls each way to wait. */
const SCHEDULES: Readonly<Record<SyncFlag, CudaSchedule>> = {
  cudaDeviceScheduleAuto: "auto",
  cudaDeviceScheduleSpin: "spin",
  cudaDeviceScheduleYield: "yield",
  cudaDeviceScheduleBlockingSync: "blocking",
};

/** The call that attaches managed memory; to one stream, where the flag says so. */
export function attachCallOf(flag: AttachFlag): string {
  return `cuda.managed.attach(tensor, "${ATTACHMENTS[flag]}"${flag === "cudaMemAttachSingle" ? ", stream" : ""})`;
}

/** The call that opens a device whose threads wait so. */
export function openCallOf(flag: SyncFlag): string {
  return `CudaContext.open({ schedule: "${SCHEDULES[flag]}" })`;
}

/** The call of samepage's that makes such memory, its shape and dtype left out. */
export function callOf(kind: AdvisedKind, flags: readonly AllocationFlag[]): string {
  const [fn, ...args] = CALLS[kind];
  const options = flags.flatMap((flag) => OPTIONS[flag] ?? []);
  if (options.length > 0) args.push(`{ ${options.join(", ")} }`);
  return `${fn}(${args.join(", ")})`;
}
