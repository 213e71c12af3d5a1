import type { AdvisedKind } from "./kind.ts";
import type { Situation } from "./request.ts";
import type { AdvisorRowId } from "./rows/mod.ts";

/** A flag of cudaHostAlloc, cudaHostRegister or cudaMallocManaged. */
export type AllocationFlag =
  | `cudaHostAlloc${"Default" | "Portable" | "Mapped" | "WriteCombined"}`
  | `cudaHostRegister${"Default" | "Portable" | "Mapped" | "ReadOnly"}`
  | `cudaMemAttach${"Global" | "Host"}`;

/** What memory is used for: in place by kernels, or only as one end of copies. */
export type Use = "in-place" | "copies";

/** One flag, and where it is set. */
interface FlagRule {
  readonly kind: AdvisedKind;
  readonly flag: AllocationFlag;
  readonly row: AdvisorRowId;
  readonly when: (situation: Situation, use: Use) => boolean;
}

/**
 * An upload: the CPU only writes, and nothing is known of the GPU's writing. On a Tegra's own GPU nothing is uploaded.
 */
const isUpload = ({ cpu, gpuWrites, device }: Situation) =>
  cpu === "write-once" && gpuWrites !== true && device.place !== "igpu";

const FLAGS: readonly FlagRule[] = [
  {
    kind: "pinned",
    flag: "cudaHostAllocMapped",
    row: "002/cudaHostAlloc/mapped",
    when: (_, use) => use === "in-place",
  },
  {
    kind: "pinned",
    flag: "cudaHostAllocPortable",
    row: "002/cudaHostAlloc/portable",
    when: ({ contexts }) => contexts > 1,
  },
  {
    kind: "pinned",
    flag: "cudaHostAllocWriteCombined",
    row: "002/cudaHostAlloc/write-combined",
    when: isUpload,
  },
  {
    kind: "registered",
    flag: "cudaHostRegisterMapped",
    row: "002/cudaHostRegister/mapped",
    when: (_, use) => use === "in-place",
  },
  {
    kind: "registered",
    flag: "cudaHostRegisterPortable",
    row: "002/cudaHostRegister/portable",
    when: ({ contexts }) => contexts > 1,
  },
  {
    kind: "registered",
    flag: "cudaHostRegisterReadOnly",
    row: "002/cudaHostRegister/read-only",
    when: ({ gpuWrites, device }) => gpuWrites === false && device.hostRegisterReadOnlySupported === true,
  },
  {
    kind: "managed",
    flag: "cudaMemAttachHost",
    row: "003/3.3/attach-input",
    when: ({ cpu, device }) => fillsFirst(cpu) && !device.concurrentManagedAccess,
  },
];

/** What a kind has where no other flag is set; kinds without flags have none. */
const DEFAULTS: Readonly<Partial<Record<AdvisedKind, { flag: AllocationFlag; row?: AdvisorRowId }>>> = {
  pinned: { flag: "cudaHostAllocDefault", row: "002/cudaHostAlloc/default" },
  registered: { flag: "cudaHostRegisterDefault", row: "002/cudaHostRegister/default" },
  managed: { flag: "cudaMemAttachGlobal" },
};

/** Does the CPU write to a buffer before the GPU uses it? */
export function fillsFirst(cpu: Situation["cpu"]): boolean {
  return cpu === "write-once" || cpu === "read-write" || cpu === "repeated";
}

/** Flags, with the rows that ask for them. */
export interface Flags {
  readonly flags: readonly AllocationFlag[];
  readonly rules: readonly AdvisorRowId[];
}

/** The flags that memory of a kind is allocated with. */
export function flagsOf(kind: AdvisedKind, use: Use, situation: Situation): Flags {
  const set = FLAGS.filter((rule) => rule.kind === kind && rule.when(situation, use));
  if (set.length > 0) return { flags: set.map(({ flag }) => flag), rules: set.map(({ row }) => row) };
  const { flag, row } = DEFAULTS[kind] ?? {};
  return { flags: flag === undefined ? [] : [flag], rules: row === undefined ? [] : [row] };
}
