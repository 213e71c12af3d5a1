import type { AdvisedKind } from "./kind.ts";
import type { Situation } from "./request.ts";
import { advisorRow, type AdvisorRowId } from "./rows/mod.ts";

/** A kind that would do too, and what it would cost. */
export interface OtherKind {
  /** The kind. */
  readonly kind: AdvisedKind;
  /** What it would cost, in our own words. */
  readonly cost: string;
  /** The row that says so. */
  readonly row: AdvisorRowId;
}

interface Cost {
  readonly kinds: readonly AdvisedKind[];
  readonly row: AdvisorRowId;
  readonly when: (situation: Situation) => boolean;
}

const HOST_MEMORY: readonly AdvisedKind[] = ["pinned", "registered"];

/** In order: the first that holds of a kind is what it would cost. */
const COSTS: readonly Cost[] = [
  { kinds: ["device"], row: "003/2/same-dram", when: ({ device }) => device.place === "igpu" },
  { kinds: ["device"], row: "003/3.4/transfer-time", when: ({ device }) => device.place === "tegra-dgpu" },
  { kinds: ["device"], row: "own/rule/copied", when: () => true },

  { kinds: ["pageable"], row: "cuda/cudaDeviceProp/pageable-access", when: () => true },

  {
    kinds: HOST_MEMORY,
    row: "003/3.2/repeated-incoherent",
    when: ({ device, cpu }) => !device.coherent && cpu === "repeated",
  },
  {
    kinds: HOST_MEMORY,
    row: "003/table-1/pinned/cpu/incoherent",
    when: ({ device, gpu }) => !device.coherent && gpu === "none",
  },
  { kinds: HOST_MEMORY, row: "cuda/cudaHostAlloc/page-locked", when: ({ gpu }) => gpu === "none" },
  { kinds: ["pinned"], row: "own/rule/copied-once", when: ({ existing }) => existing },
  { kinds: HOST_MEMORY, row: "003/table-1/pinned/igpu", when: ({ device }) => device.place === "igpu" },
  { kinds: HOST_MEMORY, row: "003/table-1/pinned/dgpu", when: ({ device }) => device.place === "tegra-dgpu" },
  { kinds: HOST_MEMORY, row: "best/zero-copy/coalesced", when: ({ gpu }) => gpu === "scattered" },
  { kinds: HOST_MEMORY, row: "best/zero-copy/once", when: () => true },

  { kinds: ["managed"], row: "cuda/cudaMallocManaged/migrates", when: ({ device }) => device.place === "dgpu" },
  { kinds: ["managed"], row: "003/3.1/maintenance", when: ({ device }) => device.coherent },
  { kinds: ["managed"], row: "003/3.1/maintenance-incoherent", when: () => true },
];

/** What a kind would cost that is not the one to use. */
export function costOf(kind: AdvisedKind, situation: Situation): OtherKind {
  const { row } = COSTS.find((it) => it.kinds.includes(kind) && it.when(situation))!;
  return { kind, cost: advisorRow(row).says, row };
}
