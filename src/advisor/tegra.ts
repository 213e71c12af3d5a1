import { oneOf, yesOrNo } from "./check.ts";
import { holds, type Rule } from "./facts.ts";
import { ADVISED_KINDS, type AdvisedKind } from "./kind.ts";
import { advisorRow, type AdvisorRowId } from "./rows/mod.ts";
import { type Reach, type Table1Id, TABLE_1 } from "./rows/tables.ts";
import { type CudaDeviceTraits, deviceIn } from "./traits.ts";

/** How a processor reaches memory, and the cell of the table that says so. */
export interface MemoryReach {
  /** `"none"`: not directly, the bytes have to be copied. */
  readonly reach: Reach;
  /** The cell of table 1. */
  readonly row: AdvisorRowId;
}

/**
 * How a Tegra's CPU or GPU reaches a kind of memory (CUDA for Tegra, table 1); undefined on other machines, which are not
 * in the table. Registered memory is pinned host memory there.
 *
 * @throws {ArgumentError} for a wrong argument.
 *
 * @example
 * ```ts
 * import { tegraReach } from "@samepage/interop/advisor";
 *
 * const xavier = {
 *   integrated: true,
 *   computeCapability: { major: 7, minor: 2 },
 *   system: "tegra",
 *   canMapHostMemory: true,
 *   hostRegisterSupported: true,
 *   managedMemory: true,
 *   concurrentManagedAccess: false,
 *   pageableMemoryAccess: false,
 * } as const;
 * console.log(tegraReach("pinned", "cpu", xavier)?.reach); // cached
 * console.log(tegraReach("pinned", "gpu", xavier)?.reach); // uncached
 * ```
 */
export function tegraReach(
  kind: AdvisedKind,
  processor: "cpu" | "gpu",
  device: CudaDeviceTraits,
): MemoryReach | undefined {
  const asked = oneOf(ADVISED_KINDS)(kind, "kind");
  const memory = asked === "registered" ? "pinned" : asked;
  const by = oneOf(["cpu", "gpu"])(processor, "processor");
  const facts = deviceIn(device, "device");
  if (!facts.has("tegra")) return undefined;
  const place = by === "cpu" ? "cpu" : facts.has("igpu") ? "igpu" : "dgpu";
  const coherency = memory === "pinned" && place === "cpu" ? facts.has("coherent") ? "/coherent" : "/incoherent" : "";
  const row = `003/table-1/${memory}/${place}${coherency}` as Table1Id;
  return { reach: TABLE_1[row], row };
}

/** A feature of CUDA that some Tegras lack. */
export type CudaFeature =
  | "cudaHostRegister"
  | "cudaMemPrefetchAsync"
  | "cusolver"
  | "gnu-atomics-on-pinned"
  | "ipc"
  | "jit"
  | "managed"
  | "mps"
  | "nvgraph"
  | "nvml"
  | "p2p"
  | "rdma"
  | "system-atomics";

interface MissingFeature extends Rule {
  readonly feature: CudaFeature;
  /** It is there, and advised against. */
  readonly discouraged?: true;
  /** What the document names in its place. */
  readonly instead?: string;
}

const PINNED = "cudaHostAlloc or cudaMallocHost";
const COMPILED = "code compiled for the GPU at hand";

/** What §3.6 lists, and what §3.2 says about atomics. If a feature has several entries, the first that holds counts. */
const MISSING: readonly MissingFeature[] = [
  { feature: "gnu-atomics-on-pinned", row: "003/3.2/gnu-atomics", when: ["!coherent"] },
  { feature: "cudaHostRegister", row: "003/3.6/host-register-qnx", when: ["qnx"], instead: PINNED },
  { feature: "cudaHostRegister", row: "003/3.6/host-register", when: ["!coherent"], instead: PINNED },
  { feature: "system-atomics", row: "003/3.6/system-atomics", when: ["!coherent"] },
  { feature: "managed", row: "003/3.6/managed-dgpu", when: ["!igpu"] },
  {
    feature: "cudaMemPrefetchAsync",
    row: "003/3.6/prefetch-async",
    when: ["igpu", "!concurrent access"],
    instead: "cudaStreamAttachMemAsync",
  },
  { feature: "nvml", row: "003/3.6/nvml", instead: "tegrastats" },
  { feature: "ipc", row: "003/3.6/ipc", instead: "EGLStream" },
  { feature: "rdma", row: "003/3.6/rdma" },
  { feature: "jit", row: "003/3.6/jit-safety", when: ["safety"], instead: COMPILED },
  { feature: "jit", row: "003/3.6/jit", discouraged: true, instead: COMPILED },
  { feature: "mps", row: "003/3.6/mps" },
  { feature: "p2p", row: "003/3.6/p2p" },
  { feature: "cusolver", row: "003/3.6/cusolver-qnx", when: ["qnx"] },
  { feature: "nvgraph", row: "003/3.6/nvgraph" },
];

/** All of them. */
export const CUDA_FEATURES: readonly CudaFeature[] = Object.freeze([...new Set(MISSING.map((it) => it.feature))]);

/** What CUDA for Tegra says of a feature on a device. */
export interface FeatureSupport {
  /** `"not-listed"` is not a promise: the document lists only what is missing, and only on Tegras. */
  readonly support: "not-listed" | "no" | "discouraged";
  /** In our own words; empty where it is not listed. */
  readonly says: string;
  /** The row that says so. */
  readonly row?: AdvisorRowId;
  /** What the document names in its place. */
  readonly instead?: string;
}

/**
 * Whether a device lacks a feature of CUDA (CUDA for Tegra, §3.6, and §3.2 about atomics). The list is about Tegras; for any
 * other machine the result is `"not-listed"`.
 *
 * @param safety true for a safe context
 * @throws {ArgumentError} for a wrong argument.
 *
 * @example
 * ```ts
 * import { tegraFeature } from "@samepage/interop/advisor";
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
 * console.log(tegraFeature("ipc", orin).instead); // EGLStream
 * console.log(tegraFeature("cudaHostRegister", orin).support); // not-listed
 * ```
 */
export function tegraFeature(feature: CudaFeature, device: CudaDeviceTraits, safety: boolean = false): FeatureSupport {
  const asked = oneOf(CUDA_FEATURES)(feature, "feature");
  const traits = deviceIn(device, "device");
  const facts = yesOrNo(safety, "safety") ? new Set([...traits, "safety" as const]) : traits;
  const found = MISSING.find((it) => it.feature === asked && holds(it, facts));
  if (found === undefined || !facts.has("tegra")) return { support: "not-listed", says: "" };
  const { row, discouraged, instead } = found;
  return {
    support: discouraged ? "discouraged" : "no",
    says: advisorRow(row).says,
    row,
    ...(instead === undefined ? {} : { instead }),
  };
}
