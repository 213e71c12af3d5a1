import { object } from "../../core/argument.ts";
import { AccessError, ArgumentError, type Reason, warn } from "../../core/errors.ts";
import { checks } from "../check.ts";
import type { CudaDevice } from "../device.ts";
import type { CudaBlock } from "./block.ts";
import { ARRAY, DEVICE, EXTERNAL, IMPORTED, PEER, VIRTUAL_MEMORY } from "./rules/on_device.ts";
import { MANAGED, PAGEABLE, PINNED, REGISTERED } from "./rules/on_host.ts";
import type { CudaKindRules, CudaOperation, CudaRule, CudaRuleKind } from "./rules/rule.ts";

/** The rules for each kind of memory, with their sources. */
export const CUDA_MEMORY: Readonly<Record<CudaRuleKind, CudaKindRules>> = {
  device: DEVICE,
  pinned: PINNED,
  registered: REGISTERED,
  managed: MANAGED,
  virtual: VIRTUAL_MEMORY,
  pageable: PAGEABLE,
  imported: IMPORTED,
  external: EXTERNAL,
  peer: PEER,
  array: ARRAY,
};

/** The fields of a device that rules need. */
export type RuledDevice = Pick<CudaDevice, "name" | "attributes">;

/** @throws {ArgumentError} for an unknown kind or operation. */
function ruleIn(kind: CudaRuleKind, operation: CudaOperation): CudaRule {
  const rules = CUDA_MEMORY[checks.nameIn(kind, CUDA_MEMORY, "kind")];
  return rules[checks.nameIn(operation, rules, "operation")];
}

/** Why an operation on a kind of memory is refused on a device; undefined if it is not. No native call. */
export function refusalOf(
  kind: CudaRuleKind,
  operation: CudaOperation,
  device: RuledDevice,
): Reason | undefined {
  const rule = ruleIn(kind, operation);
  if (rule.allowed === true) return undefined;
  if (rule.allowed === false) return said(rule.reason, rule.remedy);
  const { name, attributes } = object(device, "device");
  object(attributes, "device.attributes");
  let has: string[] | undefined; // made only for a refusal, because each map calls this
  for (const key in rule.attributes) {
    const attribute = key as keyof typeof attributes;
    if (attributes[attribute] !== rule.attributes[attribute]) {
      (has ??= []).push(`${attribute} is ${attributes[attribute] ?? 0}`);
    }
  }
  return has && said(`${rule.reason} (${name}: ${has.join(", ")})`, rule.remedy);
}

/**
 * Throws if an operation on a kind of memory is refused on a device, before any native call.
 *
 * @throws {AccessError} if the CPU may not use it.
 * @throws {ArgumentError} if anything else is refused.
 */
export function assertAllowed(
  kind: CudaRuleKind,
  operation: CudaOperation,
  device: RuledDevice,
  argument: string = "tensor",
): void {
  const refusal = refusalOf(kind, operation, device);
  if (refusal === undefined) return;
  checks.assertText(argument, "argument");
  const { source } = ruleIn(kind, operation);
  const fields = {
    api: "cuda",
    argument,
    ...(source.startsWith("cu") ? { fn: source } : {}),
    ...(refusal.remedy === undefined ? {} : { hint: refusal.remedy }),
  };
  const error = operation.startsWith("host-") ? AccessError : ArgumentError;
  throw new error(`${argument}: "${operation}" of ${kind} memory: ${refusal.reason}`, fields);
}

const warned = new WeakSet<CudaBlock>();

/** Warns, once for each block, before the CPU reads memory that it does not cache. For mappers. */
export function warnWriteCombined(block: CudaBlock): void {
  if (!block.flags.includes("cudaHostAllocWriteCombined") || warned.has(block)) return;
  warned.add(block);
  const { warns } = PINNED["host-read"] as { readonly warns?: string };
  warn(`${block.byteLength} bytes of pinned memory are read by the CPU: ${warns}`);
}

function said(reason: string, remedy: string | undefined): Reason {
  return { reason: `${reason}.`, ...(remedy === undefined ? {} : { remedy }) };
}
