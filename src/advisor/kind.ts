import { oneOf } from "./check.ts";
import { type Facts, holding, type Rule } from "./facts.ts";
import type { AdvisorRowId } from "./rows/mod.ts";

/**
 * A kind of memory in CUDA programs: the GPU's own (cudaMalloc), plain host memory (malloc), page-locked host memory
 * (cudaHostAlloc), host memory that was page-locked later (cudaHostRegister), and unified memory (cudaMallocManaged).
 */
export type AdvisedKind = "device" | "pageable" | "pinned" | "registered" | "managed";

/** All of them. */
export const ADVISED_KINDS: readonly AdvisedKind[] = Object.freeze(
  ["device", "pageable", "pinned", "registered", "managed"] as const,
);

/** A flag of cudaHostAlloc, cudaHostRegister or cudaMallocManaged. */
export type AllocationFlag =
  | `cudaHostAlloc${"Default" | "Portable" | "Mapped" | "WriteCombined"}`
  | `cudaHostRegister${"Default" | "Portable" | "Mapped" | "ReadOnly"}`
  | `cudaMemAttach${"Global" | "Host"}`;

/** The functions that allocate and release a kind of memory. */
export interface AdvisedFunctions {
  /** The function that makes it. */
  readonly allocate: "cudaMalloc" | "malloc" | "cudaHostAlloc" | "cudaHostRegister" | "cudaMallocManaged";
  /** The only function that may release it. */
  readonly release: "cudaFree" | "free" | "cudaFreeHost" | "cudaHostUnregister";
  /** The rule. */
  readonly row: AdvisorRowId;
}

const FUNCTIONS: Readonly<Record<AdvisedKind, AdvisedFunctions>> = {
  device: { allocate: "cudaMalloc", release: "cudaFree", row: "cuda/cudaFree/device" },
  pageable: { allocate: "malloc", release: "free", row: "003/3.1/pageable-cpu-only" },
  pinned: { allocate: "cudaHostAlloc", release: "cudaFreeHost", row: "002/cudaHostAlloc/free" },
  registered: { allocate: "cudaHostRegister", release: "cudaHostUnregister", row: "002/cudaHostRegister/unregister" },
  managed: { allocate: "cudaMallocManaged", release: "cudaFree", row: "cuda/cudaMallocManaged/free" },
};

/**
 * The functions that allocate and release a kind of memory.
 *
 * @throws {ArgumentError} for an argument that is not a kind.
 *
 * @example
 * ```ts
 * import { memoryFunctions } from "@samepage/interop/advisor";
 *
 * console.log(memoryFunctions("pinned").release); // cudaFreeHost
 * ```
 */
export function memoryFunctions(kind: AdvisedKind): AdvisedFunctions {
  return FUNCTIONS[oneOf(ADVISED_KINDS)(kind, "kind")];
}

interface FlagRule extends Rule {
  readonly flag: AllocationFlag;
}

/** The flags that a kind may have. An upload, which the CPU only writes for a discrete GPU, is write-combined. */
const FLAGS: Readonly<Partial<Record<AdvisedKind, readonly FlagRule[]>>> = {
  pinned: [
    { flag: "cudaHostAllocMapped", row: "002/cudaHostAlloc/mapped", when: ["in place"] },
    { flag: "cudaHostAllocPortable", row: "002/cudaHostAlloc/portable", when: ["several contexts"] },
    {
      flag: "cudaHostAllocWriteCombined",
      row: "002/cudaHostAlloc/write-combined",
      when: ["cpu write-once", "!gpu writes", "!igpu"],
    },
  ],
  registered: [
    { flag: "cudaHostRegisterMapped", row: "002/cudaHostRegister/mapped", when: ["in place"] },
    { flag: "cudaHostRegisterPortable", row: "002/cudaHostRegister/portable", when: ["several contexts"] },
    {
      flag: "cudaHostRegisterReadOnly",
      row: "002/cudaHostRegister/read-only",
      when: ["gpu only reads", "registers read-only"],
    },
  ],
  managed: [{ flag: "cudaMemAttachHost", row: "003/3.3/attach-input", when: ["cpu fills", "!concurrent access"] }],
};

const DEFAULTS: Readonly<Partial<Record<AdvisedKind, { flag: AllocationFlag; row?: AdvisorRowId }>>> = {
  pinned: { flag: "cudaHostAllocDefault", row: "002/cudaHostAlloc/default" },
  registered: { flag: "cudaHostRegisterDefault", row: "002/cudaHostRegister/default" },
  managed: { flag: "cudaMemAttachGlobal" },
};

/** The flags for allocating a kind of memory, and the rows that require them. */
export function flagsOf(kind: AdvisedKind, facts: Facts): { flags: AllocationFlag[]; rules: AdvisorRowId[] } {
  const set = holding(FLAGS[kind] ?? [], facts);
  if (set.length > 0) return { flags: set.map(({ flag }) => flag), rules: set.map(({ row }) => row) };
  const { flag, row } = DEFAULTS[kind] ?? {};
  return { flags: flag === undefined ? [] : [flag], rules: row === undefined ? [] : [row] };
}

const CALLS: Readonly<Record<AdvisedKind, readonly [fn: string, ...args: string[]]>> = {
  device: ["cuda.allocate"],
  pageable: ["host.allocate"],
  pinned: ["cuda.pinned.allocate"],
  registered: ["cuda.register", "tensor"],
  managed: ["cuda.managed.allocate"],
};

/** The options of those calls that set a flag. The calls set the other flags by themselves. */
const OPTIONS: Readonly<Partial<Record<AllocationFlag, string>>> = {
  cudaHostAllocWriteCombined: "writeCombined: true",
  cudaHostRegisterReadOnly: "readOnly: true",
  cudaMemAttachHost: 'attach: "host"',
};

/** samepage's call that allocates or registers such memory, without shape and dtype. */
export function callOf(kind: AdvisedKind, flags: readonly AllocationFlag[]): string {
  const [fn, ...args] = CALLS[kind];
  const options = flags.flatMap((flag) => OPTIONS[flag] ?? []);
  if (options.length > 0) args.push(`{ ${options.join(", ")} }`);
  return `${fn}(${args.join(", ")})`;
}
