import type { Rule } from "./facts.ts";
import type { AdvisedKind } from "./kind.ts";

export interface KindRule<K extends AdvisedKind = AdvisedKind> extends Rule {
  readonly kind: K;
}

export interface MemoryRule extends KindRule<Exclude<AdvisedKind, "registered">> {
  /** Rows that support it, if they hold. */
  readonly also?: readonly Rule[];
}

const COHERENCY: readonly Rule[] = [
  { row: "003/3.1/coherent", when: ["coherent"] },
  { row: "003/3.1/incoherent", when: ["!coherent"] },
];

/** Why its own memory suits a discrete GPU better than host memory. */
const OWN_MEMORY: readonly Rule[] = [
  { row: "003/2/own-dram" },
  { row: "003/table-1/pinned/dgpu", when: ["tegra"] },
  { row: "003/table-1/device/dgpu", when: ["tegra"] },
];

/**
 * In order: the first rule that holds and whose kind is not excluded decides. Where it says "pinned", a buffer that exists
 * already is registered. For an integrated GPU the exceptions come first: §3.1 recommends pinned memory for accesses that
 * suit no cache, but not where that would take the cache from a CPU that uses the buffer often.
 */
export const MEMORY_RULES: readonly MemoryRule[] = [
  { row: "003/3.1/pageable-cpu-only", kind: "pageable", when: ["gpu none"] },
  { row: "003/3.1/device-gpu-only", kind: "device", when: ["cpu none"] },

  { row: "003/3.1/safety", kind: "pinned", when: ["igpu", "safety"], also: [{ row: "003/3.3/latency" }] },
  { row: "003/3.1/pinned-small", kind: "pinned", when: ["igpu", "small"] },
  {
    row: "003/3.1/managed-incoherent",
    kind: "managed",
    when: ["igpu", "!coherent", "cpu repeated"],
    also: [{ row: "003/3.2/repeated-incoherent" }],
  },
  { row: "003/3.1/pinned-scattered", kind: "pinned", when: ["igpu", "gpu scattered"], also: COHERENCY },
  {
    row: "003/3.1/managed-repeated",
    kind: "managed",
    when: ["igpu", "coherent", "cpu repeated", "repetitive"],
    also: [{ row: "003/table-1/managed/cpu" }, { row: "003/table-1/managed/igpu" }],
  },
  {
    row: "own/rule/gpu-repeats",
    kind: "managed",
    when: ["igpu", "repetitive"],
    also: [{ row: "003/table-1/managed/igpu" }, { row: "003/table-1/pinned/igpu" }],
  },
  { row: "003/3.1/pinned-once", kind: "pinned", when: ["igpu", "!repetitive"], also: COHERENCY },
  { row: "003/3.1/shared", kind: "pinned", when: ["igpu"] },
  { row: "003/3.1/shared", kind: "managed", when: ["igpu"] },

  { row: "best/zero-copy/coalesced", kind: "device", when: ["!igpu", "gpu scattered"], also: OWN_MEMORY },
  { row: "003/3.2/repeated-incoherent", kind: "device", when: ["!igpu", "!coherent", "cpu repeated"] },
  { row: "best/zero-copy/once", kind: "device", when: ["!igpu", "repetitive"], also: OWN_MEMORY },
  {
    row: "002/zero-copy/in-place",
    kind: "pinned",
    when: ["!igpu"],
    also: [{ row: "best/zero-copy/once" }, { row: "best/zero-copy/coalesced" }],
  },

  { row: "own/rule/copied", kind: "device" },
];

/** In order: the first rule of a kind that holds is the reason why the kind cannot be used. */
export const EXCLUSIONS: readonly KindRule[] = [
  { kind: "device", row: "003/table-1/device/cpu", when: ["gpu none", "tegra"] },
  { kind: "device", row: "own/rule/cpu-alone", when: ["gpu none"] },

  { kind: "pageable", row: "003/table-1/pageable/igpu", when: ["!gpu none", "!reaches pageable memory", "igpu"] },
  { kind: "pageable", row: "003/table-1/pageable/dgpu", when: ["!gpu none", "!reaches pageable memory", "tegra"] },
  { kind: "pageable", row: "cuda/cudaDeviceProp/pageable-access", when: ["!gpu none", "!reaches pageable memory"] },

  { kind: "pinned", row: "002/example/can-map", when: ["!gpu none", "!maps host memory"] },

  { kind: "registered", row: "002/cudaHostRegister/existing", when: ["!existing"] },
  { kind: "registered", row: "003/3.6/host-register-qnx", when: ["tegra", "qnx"] },
  { kind: "registered", row: "003/3.2/host-register", when: ["!coherent"] },
  { kind: "registered", row: "cuda/cudaHostRegister/attribute", when: ["!registers"] },
  { kind: "registered", row: "002/example/can-map", when: ["!gpu none", "!maps host memory"] },

  { kind: "managed", row: "003/table-1/managed/dgpu", when: ["tegra", "!igpu"] },
  { kind: "managed", row: "cuda/cudaMallocManaged/attribute", when: ["!has managed memory"] },
  { kind: "managed", row: "003/3.1/safety", when: ["safety"] },
];

/** The CPU's memory beside device memory. In order: the first rule that holds decides. */
export const STAGING: readonly KindRule<"pageable" | "pinned" | "registered">[] = [
  { kind: "pageable", row: "003/3.2/repeated-incoherent", when: ["!coherent", "cpu repeated"] },
  { kind: "pageable", row: "own/rule/copied", when: ["existing", "excluded registered"] },
  { kind: "registered", row: "003/3.2/transfers", when: ["existing"] },
  { kind: "pinned", row: "003/3.2/transfers" },
];

const HOST_COSTS: readonly Rule[] = [
  { row: "003/table-1/pinned/igpu", when: ["igpu"] },
  { row: "003/table-1/pinned/dgpu", when: ["tegra"] },
  { row: "best/zero-copy/coalesced", when: ["gpu scattered"] },
  { row: "best/zero-copy/once" },
];
const HOST_COSTS_FIRST: readonly Rule[] = [
  { row: "003/3.2/repeated-incoherent", when: ["!coherent", "cpu repeated"] },
  { row: "003/table-1/pinned/cpu/incoherent", when: ["!coherent", "gpu none"] },
  { row: "cuda/cudaHostAlloc/page-locked", when: ["gpu none"] },
];

/** What each kind would cost. In order: the first rule that holds is reported. */
export const COSTS: Readonly<Record<AdvisedKind, readonly Rule[]>> = {
  device: [
    { row: "003/2/same-dram", when: ["igpu"] },
    { row: "003/3.4/transfer-time", when: ["tegra"] },
    { row: "own/rule/copied" },
  ],
  pageable: [{ row: "cuda/cudaDeviceProp/pageable-access" }],
  pinned: [...HOST_COSTS_FIRST, { row: "own/rule/copied-once", when: ["existing"] }, ...HOST_COSTS],
  registered: [...HOST_COSTS_FIRST, ...HOST_COSTS],
  managed: [
    { row: "cuda/cudaMallocManaged/migrates", when: ["!igpu", "!tegra"] },
    { row: "003/3.1/maintenance", when: ["coherent"] },
    { row: "003/3.1/maintenance-incoherent" },
  ],
};

/** What to look out for. All rules that hold are reported. */
export const CAUTIONS: readonly Rule[] = [
  { row: "own/rule/integrated-elsewhere", when: ["igpu", "!tegra"] },
  { row: "own/rule/safety-elsewhere", when: ["safety", "!tegra"] },
  { row: "own/rule/small", when: ["by 003/3.1/pinned-small"] },
  { row: "own/rule/copied-once", when: ["existing", "kind pinned"] },
  { row: "own/rule/copied-once", when: ["existing", "kind managed"] },
  { row: "own/measured/register", when: ["kind registered"] },
  { row: "own/measured/write-combined", when: ["flag cudaHostAllocWriteCombined"] },
  {
    row: "cuda/cudaHostRegister/read-only",
    when: ["kind registered", "gpu only reads", "!registers read-only"],
  },
  { row: "003/3.2/read-time", when: ["kind pinned", "igpu", "!coherent", "!excluded managed"] },
  { row: "003/3.1/incoherent", when: ["kind pinned", "tegra", "!igpu", "!coherent"] },
  { row: "003/3.2/gnu-atomics", when: ["kind pinned", "tegra", "!coherent"] },
  { row: "003/3.3/latency", when: ["kind managed", "igpu"] },
  { row: "programming/coherency/cpu-waits", when: ["kind managed", "!concurrent access"] },
  { row: "003/3.6/p2p", when: ["kind device", "several contexts", "tegra"] },
  { row: "003/3.1/evaluate", when: ["igpu", "!cpu none", "!gpu none"] },
];
