import type { CudaAttribute } from "../../attributes.ts";
import type { CudaMemoryKind } from "../block.ts";

/** What a rule is about: a kind of memory that tensors have, or arrays, whose layout is the driver's own. */
export type CudaRuleKind = CudaMemoryKind | "array";

/** What may be done to memory. */
export type CudaOperation =
  | "kernel-read"
  | "kernel-write"
  | "kernel-on-another-device"
  | "host-read"
  | "host-write"
  | "host-view-while-a-kernel-runs"
  | "copy"
  | "register"
  | "unregister"
  | "free"
  | "prefetch"
  | "advise"
  | "attach"
  | "export-ipc"
  | "export-fd"
  | "export-dma-buf"
  | "share-opencl";

/** What every rule has. */
export interface SourcedRule {
  /** Where it is said: `"003/table-1"`, `"002"`, or the function of CUDA's whose documentation says so. */
  readonly source: string;
}

/** It may be done. */
export interface AllowedRule extends SourcedRule {
  /** Always. */
  readonly allowed: true;
  /** The functions of CUDA's that do it, where only they may. */
  readonly by?: readonly string[];
  /** What is slow about it, where something is. */
  readonly warns?: string;
}

/** It may not be done. */
export interface RefusedRule extends SourcedRule {
  /** Never. */
  readonly allowed: false;
  /** Why, as a clause: "the CPU does not reach it". */
  readonly reason: string;
  /** What to do instead. */
  readonly remedy?: string;
}

/** It may be done on some devices. */
export interface ConditionalRule extends SourcedRule {
  /** Where the attributes are so. */
  readonly allowed: "if";
  /** CUDA's attributes of a device, and what each has to be. */
  readonly attributes: Readonly<Partial<Record<CudaAttribute, number>>>;
  /** The functions of CUDA's that do it, where only they may. */
  readonly by?: readonly string[];
  /** Why not, elsewhere. */
  readonly reason: string;
  /** What to do instead, elsewhere. */
  readonly remedy?: string;
}

/** What CUDA says of one operation on one kind of memory. */
export type CudaRule = AllowedRule | RefusedRule | ConditionalRule;

/** The rules of one kind. */
export type CudaKindRules = Readonly<Record<CudaOperation, CudaRule>>;
