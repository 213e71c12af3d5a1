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

/** The field that all rules have. */
export interface SourcedRule {
  /** Its source: `"003/table-1"`, `"002"`, or the CUDA function whose documentation has it. */
  readonly source: string;
}

/** An allowed operation. */
export interface AllowedRule extends SourcedRule {
  /** Always. */
  readonly allowed: true;
  /** The only functions that may do it, if there are such. */
  readonly by?: readonly string[];
  /** Why it is slow, if it is. */
  readonly warns?: string;
}

/** A refused operation. */
export interface RefusedRule extends SourcedRule {
  /** Never. */
  readonly allowed: false;
  /** Why, as a clause: "the CPU cannot reach it". */
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
  /** The only functions that may do it, if there are such. */
  readonly by?: readonly string[];
  /** Why other devices refuse it. */
  readonly reason: string;
  /** What to do instead on those. */
  readonly remedy?: string;
}

/** CUDA's rule for one operation on one kind of memory. */
export type CudaRule = AllowedRule | RefusedRule | ConditionalRule;

/** The rules of one kind. */
export type CudaKindRules = Readonly<Record<CudaOperation, CudaRule>>;

export function always(source: string, about: { by?: readonly string[]; warns?: string } = {}): AllowedRule {
  return { allowed: true, ...about, source };
}

export function never(source: string, reason: string, remedy?: string): RefusedRule {
  return { allowed: false, reason, ...(remedy === undefined ? {} : { remedy }), source };
}

export function onlyIf(
  attributes: ConditionalRule["attributes"],
  source: string,
  about: { reason: string; remedy?: string; by?: readonly string[] },
): ConditionalRule {
  return { allowed: "if", attributes, ...about, source };
}
