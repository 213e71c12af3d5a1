import type { UnifiedMemory, UsmKind } from "../core/tensors/unified.ts";
import type { PointerTensor } from "../core/tensors/pointer.ts";
import { type Examination, LITTLE, type Node } from "./api.ts";
import type { AliasReport, Trait } from "./report.ts";

/** The kinds of unified shared memory, in the order in which edges are tried with them. */
const KINDS = ["shared", "host", "device"] as const satisfies readonly UsmKind[];

/** Unified shared memory of a device: its node, and the results of proofs. */
export function examineUnified(
  usm: UnifiedMemory<PointerTensor>,
  has: Readonly<Record<UsmKind, boolean>>,
  device: string,
  { proofs }: Examination,
): { readonly node: Node; readonly aliasing: readonly AliasReport[] } {
  const kind = KINDS.find((one) => has[one]) ?? "shared"; // if a driver reports none, the allocator decides
  const node = { device, target: usm, make: () => usm.allocate({ ...LITTLE, kind }) };
  const reached = proofs ? (["host", "shared"] as const).filter((one) => has[one]) : [];
  const aliasing = reached.map((one) => {
    const memory = usm.classOf(one);
    usm.context.proofs.tryToProve(memory);
    return usm.context.proofs.judge(memory);
  });
  return { node, aliasing };
}

/** Its kinds, in words; `"system"` is all of the host's memory. */
export function memoryTrait(has: Readonly<Partial<Record<UsmKind | "system", boolean>>>): Trait {
  const kinds = KINDS.filter((kind) => has[kind]);
  const system = has.system ? ["all of the host's memory, in place"] : [];
  return { label: "memory", text: [...kinds, ...system].join(", ") || "no kind of unified shared memory" };
}
