import { ADVISED_KINDS, type AdvisedKind } from "./kind.ts";
import type { Situation } from "./request.ts";
import { advisorRow, type AdvisorRowId } from "./rows/mod.ts";

/** A kind that a request cannot have, and why. */
export interface ExcludedKind {
  /** The kind. */
  readonly kind: AdvisedKind;
  /** Why, in our own words. */
  readonly reason: string;
  /** The row that says so. */
  readonly row: AdvisorRowId;
}

interface Exclusion {
  readonly kind: AdvisedKind;
  readonly row: AdvisorRowId;
  readonly when: (situation: Situation) => boolean;
}

const cannotMap = ({ gpu, device }: Situation) => gpu !== "none" && !device.canMapHostMemory;

/** In order: where several rows exclude a kind, the first is told. */
const EXCLUSIONS: readonly Exclusion[] = [
  {
    kind: "device",
    row: "003/table-1/device/cpu",
    when: ({ gpu, device }) => gpu === "none" && device.system === "tegra",
  },
  { kind: "device", row: "own/rule/cpu-alone", when: ({ gpu }) => gpu === "none" },

  { kind: "pageable", row: "003/table-1/pageable/igpu", when: (it) => cannotReach(it) && it.device.place === "igpu" },
  {
    kind: "pageable",
    row: "003/table-1/pageable/dgpu",
    when: (it) => cannotReach(it) && it.device.place === "tegra-dgpu",
  },
  { kind: "pageable", row: "cuda/cudaDeviceProp/pageable-access", when: (it) => cannotReach(it) },

  { kind: "pinned", row: "002/example/can-map", when: cannotMap },

  { kind: "registered", row: "002/cudaHostRegister/existing", when: ({ existing }) => !existing },
  {
    kind: "registered",
    row: "003/3.6/host-register-qnx",
    when: ({ device }) => device.system === "tegra" && device.os === "qnx",
  },
  { kind: "registered", row: "003/3.2/host-register", when: ({ device }) => !device.coherent },
  {
    kind: "registered",
    row: "cuda/cudaHostRegister/attribute",
    when: ({ device }) => !device.hostRegisterSupported,
  },
  { kind: "registered", row: "002/example/can-map", when: cannotMap },

  { kind: "managed", row: "003/table-1/managed/dgpu", when: ({ device }) => device.place === "tegra-dgpu" },
  { kind: "managed", row: "cuda/cudaMallocManaged/attribute", when: ({ device }) => !device.managedMemory },
  { kind: "managed", row: "003/3.1/safety", when: ({ safety }) => safety },
];

/** Memory of malloc is out of the GPU's reach, unless the device says otherwise. */
function cannotReach({ gpu, device }: Situation): boolean {
  return gpu !== "none" && !device.pageableMemoryAccess;
}

/** The kinds that a situation cannot have: at least device memory or pageable memory is always left. */
export function excludedKinds(situation: Situation): ExcludedKind[] {
  return ADVISED_KINDS.flatMap((kind) => {
    const found = EXCLUSIONS.find((it) => it.kind === kind && it.when(situation));
    return found === undefined ? [] : [{ kind, reason: advisorRow(found.row).says, row: found.row }];
  });
}
