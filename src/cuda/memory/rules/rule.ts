import type { CudaAttribute } from "../../attributes.ts";
import type { CudaMemoryKind } from "../block.ts";

/** The subject of a rule: a kind of memory of tensors, or arrays, whose layout only the driver knows. */
export type CudaRuleKind = CudaMemoryKind | "array";

/** An operation on memory. */
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

/** The common part of all rules. */
export interface SourcedRule {
  /** Its source: `"003/table-1"`, `"002"`, or the CUDA function whose documentation has it. */
  readonly source: string;
}

/** An allowed operation. */
export interface AllowedRule extends SourcedRule {
  /** Always. */
  readonly allowed: true;
  /** The functions of CUDA's that do it, where only they may. */
  readonly by?: readonly string[];
  /** What is slow about it, where something is. */
  readonly warns?: string;
}

/** A refused operation. */
export interface RefusedRule extends SourcedRule {
  /** Never. */
  readonly allowed: false;
  /** Why, as a clause: "the CPU does not reach it". */
  readonly reason: string;
  /** What to do instead. */
  readonly remedy?: string;
}

/** An operation that some devices allow. */
export interface ConditionalRule extends SourcedRule {
  /** If the attributes match. */
  readonly allowed: "if";
  /** CUDA's attributes of a device, with their required values. */
  readonly attributes: Readonly<Partial<Record<CudaAttribute, number>>>;
  /** The functions of CUDA's that do it, where only they may. */
  readonly by?: readonly string[];
  /** Why not, elsewhere. */
  readonly reason: string;
  /** What to do instead, elsewhere. */
  readonly remedy?: string;
}

/** CUDA's rule for one operation on one kind of memory. */
export type CudaRule = AllowedRule | RefusedRule | ConditionalRule;

/** The rules of one kind. */
export type CudaKindRules = Readonly<Record<CudaOperation, CudaRule>>;
