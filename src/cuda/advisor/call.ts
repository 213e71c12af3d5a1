import type { AllocationFlag } from "./flags.ts";
import type { AdvisedKind } from "./kind.ts";

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

/** The call of samepage's that makes such memory, its shape and dtype left out. */
export function callOf(kind: AdvisedKind, flags: readonly AllocationFlag[]): string {
  const [fn, ...args] = CALLS[kind];
  const options = flags.flatMap((flag) => OPTIONS[flag] ?? []);
  if (options.length > 0) args.push(`{ ${options.join(", ")} }`);
  return `${fn}(${args.join(", ")})`;
}
