import type { Names } from "../core/argument.ts";
import { type Caution, cautionOf } from "./caution.ts";
import { attachCallOf, callOf } from "./call.ts";
import { fields, oneOf, wrong, yesOrNo } from "./check.ts";
import { fillsFirst } from "./flags.ts";
import { CPU_PATTERNS, type CpuPattern } from "./pattern.ts";
import { advisorRow, type AdvisorRowId, quoted } from "./rows/mod.ts";
import { type AttachFlag, type Table2Id, TABLE_2 } from "./rows/table2.ts";
import { type CudaDeviceTraits, type Device, deviceIn } from "./traits.ts";

const ATTACH_FLAGS: readonly AttachFlag[] = ["cudaMemAttachGlobal", "cudaMemAttachHost", "cudaMemAttachSingle"];

/** What a change of a piece's attachment does. */
export interface PrefetchEffect {
  /** To whom the bytes are prefetched. */
  readonly to: "cpu" | "gpu" | "none";
  /** The cell of table 2. */
  readonly row: AdvisorRowId;
}

/**
 * What cudaStreamAttachMemAsync prefetches where the flag of a piece of unified memory changes (CUDA for Tegra, table
 * 2). The table is silent on a flag that stays: that is taken to prefetch nothing.
 *
 * @throws {ArgumentError} where it is no flag.
 *
 * @example
 * ```ts
 * import { prefetchOf } from "@samepage/interop/advisor";
 *
 * console.log(prefetchOf("cudaMemAttachHost", "cudaMemAttachGlobal").to); // gpu
 * ```
 */
export function prefetchOf(previous: AttachFlag, current: AttachFlag): PrefetchEffect {
  const [from, to] = [oneOf(previous, ATTACH_FLAGS, "previous"), oneOf(current, ATTACH_FLAGS, "current")];
  const row = (Object.keys(TABLE_2) as Table2Id[])
    .find((id) => TABLE_2[id].previous === from && TABLE_2[id].current === to);
  return row === undefined ? { to: "none", row: "own/rule/attach-unchanged" } : { to: TABLE_2[row].prefetch, row };
}

/** Who uses a piece of unified memory around kernels. */
export interface AttachRequest {
  /** What the CPU does with it between two kernels. */
  readonly cpu: CpuPattern;
  /** The GPU. */
  readonly device: CudaDeviceTraits;
  /** Is it one stream alone whose kernels use it, and not the default one? `false` by default. */
  readonly oneStream?: boolean;
}

const FIELDS: Names<AttachRequest> = { cpu: true, device: true, oneStream: true };

/** One hint. */
export interface AttachHint {
  /** Who needs the bytes next. */
  readonly to: "cpu" | "gpu";
  /** The flag for cudaStreamAttachMemAsync; cudaMemPrefetchAsync takes none. */
  readonly flag?: AttachFlag;
  /** The call of samepage's: `'cuda.managed.attach(tensor, "host")'`. */
  readonly call: string;
}

/** How to allocate unified memory, and how to hint at who needs it next. */
export interface AttachAdvice {
  /** The flag for cudaMallocManaged. */
  readonly allocate: "cudaMemAttachGlobal" | "cudaMemAttachHost";
  /** The call of samepage's that allocates so, its shape and dtype left out. */
  readonly call: string;
  /** The function for the hints. */
  readonly hint: "cudaStreamAttachMemAsync" | "cudaMemPrefetchAsync";
  /** Ahead of the kernels; missing where the GPU has the bytes already. */
  readonly before?: AttachHint;
  /** Behind the kernels, before the stream is waited for; missing where the CPU does not need the bytes. */
  readonly after?: AttachHint;
  /** The rows that decided. */
  readonly rules: readonly AdvisorRowId[];
  /** Why, in our own words, with the sections. */
  readonly why: string;
  /** What to look out for. */
  readonly cautions: readonly Caution[];
}

/**
 * How to attach unified memory, and which prefetching hints to give (CUDA for Tegra, §3.3 and table 2).
 *
 * @throws {ArgumentError} where the request is wrong, or the device has no unified memory.
 *
 * @example
 * ```ts
 * import { adviseAttach } from "@samepage/interop/advisor";
 *
 * const tx2 = {
 *   integrated: true,
 *   computeCapability: { major: 6, minor: 2 },
 *   system: "tegra",
 *   canMapHostMemory: true,
 *   hostRegisterSupported: false,
 *   managedMemory: true,
 *   concurrentManagedAccess: false,
 *   pageableMemoryAccess: false,
 * } as const;
 * const input = adviseAttach({ cpu: "write-once", device: tx2 });
 * console.log(input.allocate, input.before?.flag); // cudaMemAttachHost cudaMemAttachGlobal
 * console.log(input.before?.call); // cuda.managed.attach(tensor, "global")
 * const output = adviseAttach({ cpu: "read-once", device: tx2 });
 * console.log(output.allocate, output.after?.flag); // cudaMemAttachGlobal cudaMemAttachHost
 * ```
 */
export function adviseAttach(request: AttachRequest): AttachAdvice {
  const { cpu, device, oneStream = false } = fields(request, FIELDS, "request");
  const pattern = oneOf(cpu, CPU_PATTERNS, "cpu");
  const traits = deviceIn(device, "device");
  const single = yesOrNo(oneStream, "oneStream");
  refuseWithout(traits);
  return Object.freeze(traits.concurrentManagedAccess ? prefetched(pattern) : attached(pattern, traits, single));
}

/** Hints by flags. */
function attached(cpu: CpuPattern, { system, os }: Device, oneStream: boolean): AttachAdvice {
  const allocate = fillsFirst(cpu) ? "cudaMemAttachHost" : "cudaMemAttachGlobal";
  const onGpu = oneStream ? "cudaMemAttachSingle" : "cudaMemAttachGlobal";
  const before = onGpu !== allocate;
  const after = readsAfter(cpu);
  const rules: AdvisorRowId[] = [
    "003/3.3/hints",
    ...(system === "tegra" ? ["003/3.3/no-prefetch-async"] as const : []),
    ...(fillsFirst(cpu) ? ["003/3.3/attach-input"] as const : []),
    ...(oneStream ? ["cuda/cudaStreamAttachMemAsync/one-stream"] as const : []),
    ...(before ? [prefetchOf(allocate, onGpu).row] : []),
    ...(after ? ["003/3.3/attach-output", prefetchOf(onGpu, "cudaMemAttachHost").row] as const : []),
  ];
  const cautions: AdvisorRowId[] = [
    "programming/coherency/cpu-waits",
    ...(after ? ["003/3.3/synchronize"] as const : []),
    ...(os === "qnx" ? ["003/3.3/qnx"] as const : []),
  ];
  return {
    allocate,
    call: callOf("managed", [allocate]),
    hint: "cudaStreamAttachMemAsync",
    ...(before ? { before: attachHint("gpu", onGpu) } : {}),
    ...(after ? { after: attachHint("cpu", "cudaMemAttachHost") } : {}),
    rules,
    why: quoted(rules),
    cautions: cautions.map(cautionOf),
  };
}

/** Hints without flags, where CPU and GPU may use unified memory at the same time. */
function prefetched(cpu: CpuPattern): AttachAdvice {
  const rules: AdvisorRowId[] = ["cuda/cudaMemPrefetchAsync/concurrent"];
  return {
    allocate: "cudaMemAttachGlobal",
    call: callOf("managed", ["cudaMemAttachGlobal"]),
    hint: "cudaMemPrefetchAsync",
    ...(fillsFirst(cpu) ? { before: prefetchHint("gpu") } : {}),
    ...(readsAfter(cpu) ? { after: prefetchHint("cpu") } : {}),
    rules,
    why: quoted(rules),
    cautions: [],
  };
}

function attachHint(to: AttachHint["to"], flag: AttachFlag): AttachHint {
  return { to, flag, call: attachCallOf(flag) };
}

function prefetchHint(to: AttachHint["to"]): AttachHint {
  return { to, call: `cuda.managed.prefetch(tensor, "${to === "gpu" ? "device" : "host"}")` };
}

/** Does the CPU need what the GPU has written? */
function readsAfter(cpu: CpuPattern): boolean {
  return cpu !== "none" && cpu !== "write-once";
}

function refuseWithout({ place, managedMemory }: Device): void {
  if (place !== "tegra-dgpu" && managedMemory) return;
  const row = place === "tegra-dgpu" ? "003/3.6/managed-dgpu" : "cuda/cudaMallocManaged/attribute";
  throw wrong("device", `it has no unified memory (${row}). ${advisorRow(row).says}`);
}
