import type { ManagedAttachment } from "../cuda/memory/managed.ts";
import { oneOf, optional, requestIn, wrong, yesOrNo } from "./check.ts";
import { type Facts, rowsOf, type Rule } from "./facts.ts";
import { callOf } from "./kind.ts";
import { CPU_PATTERNS, type CpuPattern, factsOfCpu } from "./request.ts";
import { advisorRow, type AdvisorRowId, type Caution, cautionOf, quoted } from "./rows/mod.ts";
import { type AttachFlag, type Table2Id, TABLE_2 } from "./rows/tables.ts";
import { type CudaDeviceTraits, deviceIn } from "./traits.ts";

const ATTACHMENTS: Readonly<Record<AttachFlag, ManagedAttachment>> = {
  cudaMemAttachGlobal: "global",
  cudaMemAttachHost: "host",
  cudaMemAttachSingle: "single",
};
const FLAG = oneOf(Object.keys(ATTACHMENTS) as AttachFlag[]);

/** What a change of attachment prefetches. */
export interface PrefetchEffect {
  /** The processor that the bytes are prefetched to. */
  readonly to: "cpu" | "gpu" | "none";
  /** The cell of table 2. */
  readonly row: AdvisorRowId;
}

/**
 * What cudaStreamAttachMemAsync prefetches when it changes the flag of unified memory (CUDA for Tegra, table 2). The table
 * does not mention a flag that stays the same: that is assumed to prefetch nothing.
 *
 * @throws {ArgumentError} for an argument that is not a flag.
 *
 * @example
 * ```ts
 * import { prefetchOf } from "@samepage/interop/advisor";
 *
 * console.log(prefetchOf("cudaMemAttachHost", "cudaMemAttachGlobal").to); // gpu
 * ```
 */
export function prefetchOf(previous: AttachFlag, current: AttachFlag): PrefetchEffect {
  const [from, to] = [FLAG(previous, "previous"), FLAG(current, "current")];
  if (from === to) return { to: "none", row: "own/rule/attach-unchanged" };
  const row = `003/table-2/${ATTACHMENTS[from]}-${ATTACHMENTS[to]}` as Table2Id;
  return { to: TABLE_2[row], row };
}

/** How unified memory is used around kernels. */
export interface AttachRequest {
  /** What the CPU does with it between two kernels. */
  readonly cpu: CpuPattern;
  /** The GPU. */
  readonly device: CudaDeviceTraits;
  /** True if only the kernels of one stream use it, which is not the default stream; `false` by default. */
  readonly oneStream?: boolean;
}

const REQUEST = { cpu: oneOf(CPU_PATTERNS), device: deviceIn, oneStream: optional(yesOrNo, false) };

/** One hint. */
export interface AttachHint {
  /** The processor that needs the bytes next. */
  readonly to: "cpu" | "gpu";
  /** The flag for cudaStreamAttachMemAsync; cudaMemPrefetchAsync takes none. */
  readonly flag?: AttachFlag;
  /** samepage's call: `'cuda.managed.attach(tensor, "host")'`. */
  readonly call: string;
}

/** How to allocate unified memory, and how to hint at the processor that needs it next. */
export interface AttachAdvice {
  /** The flag for cudaMallocManaged. */
  readonly allocate: "cudaMemAttachGlobal" | "cudaMemAttachHost";
  /** samepage's call that allocates so, without shape and dtype. */
  readonly call: string;
  /** The function for the hints. */
  readonly hint: "cudaStreamAttachMemAsync" | "cudaMemPrefetchAsync";
  /** The hint before the kernels; missing if the GPU has the bytes already. */
  readonly before?: AttachHint;
  /** The hint after the kernels, before the wait for the stream; missing if the CPU does not need the bytes. */
  readonly after?: AttachHint;
  /** The rows that decided. */
  readonly rules: readonly AdvisorRowId[];
  /** Why, in our own words, with the sections. */
  readonly why: string;
  /** What to look out for. */
  readonly cautions: readonly Caution[];
}

const RULES: readonly Rule[] = [
  { row: "003/3.3/hints" },
  { row: "003/3.3/no-prefetch-async", when: ["tegra"] },
  { row: "003/3.3/attach-input", when: ["cpu fills"] },
  { row: "cuda/cudaStreamAttachMemAsync/one-stream", when: ["one stream"] },
];

const CAUTIONS: readonly Rule[] = [
  { row: "programming/coherency/cpu-waits" },
  { row: "003/3.3/synchronize", when: ["cpu reads"] },
  { row: "003/3.3/qnx", when: ["qnx"] },
];

/**
 * How to attach unified memory, and which prefetching hints to give (CUDA for Tegra, §3.3 and table 2).
 *
 * @throws {ArgumentError} for a wrong request, or a device without unified memory.
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
  const { cpu, device, oneStream } = requestIn(request, REQUEST);
  if (device.has("tegra") && !device.has("igpu")) throw noManagedMemory("003/3.6/managed-dgpu");
  if (!device.has("has managed memory")) throw noManagedMemory("cuda/cudaMallocManaged/attribute");
  const facts: Facts = new Set([...device, ...factsOfCpu(cpu), ...(oneStream ? ["one stream"] as const : [])]);
  return Object.freeze(facts.has("concurrent access") ? prefetched(facts) : attached(facts));
}

function attached(facts: Facts): AttachAdvice {
  const allocate = facts.has("cpu fills") ? "cudaMemAttachHost" : "cudaMemAttachGlobal";
  const onGpu = facts.has("one stream") ? "cudaMemAttachSingle" : "cudaMemAttachGlobal";
  const before = onGpu !== allocate;
  const after = facts.has("cpu reads");
  const rules: AdvisorRowId[] = [
    ...rowsOf(RULES, facts),
    ...(before ? [prefetchOf(allocate, onGpu).row] : []),
    ...(after ? ["003/3.3/attach-output", prefetchOf(onGpu, "cudaMemAttachHost").row] as const : []),
  ];
  return {
    allocate,
    call: callOf("managed", [allocate]),
    hint: "cudaStreamAttachMemAsync",
    ...(before ? { before: attachHint("gpu", onGpu) } : {}),
    ...(after ? { after: attachHint("cpu", "cudaMemAttachHost") } : {}),
    rules,
    why: quoted(rules),
    cautions: rowsOf(CAUTIONS, facts).map(cautionOf),
  };
}

function prefetched(facts: Facts): AttachAdvice {
  const rules: AdvisorRowId[] = ["cuda/cudaMemPrefetchAsync/concurrent"];
  return {
    allocate: "cudaMemAttachGlobal",
    call: callOf("managed", ["cudaMemAttachGlobal"]),
    hint: "cudaMemPrefetchAsync",
    ...(facts.has("cpu fills") ? { before: { to: "gpu", call: 'cuda.managed.prefetch(tensor, "device")' } } : {}),
    ...(facts.has("cpu reads") ? { after: { to: "cpu", call: 'cuda.managed.prefetch(tensor, "host")' } } : {}),
    rules,
    why: quoted(rules),
    cautions: [],
  };
}

function attachHint(to: AttachHint["to"], flag: AttachFlag): AttachHint {
  const stream = flag === "cudaMemAttachSingle" ? ", stream" : "";
  return { to, flag, call: `cuda.managed.attach(tensor, "${ATTACHMENTS[flag]}"${stream})` };
}

function noManagedMemory(row: AdvisorRowId): Error {
  return wrong("device", `it has no unified memory (${row}). ${advisorRow(row).says}`);
}
