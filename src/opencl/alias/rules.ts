import type { AlignmentRule } from "../../core/layout/layout.ts";
import type { BaseContext } from "../base_context.ts";
import { classAt } from "./memory.ts";

/** The least alignment at which a context's devices provably use host memory in place; undefined if they never do. */
export function aliasRuleOf({ name, device, proofs }: BaseContext): AlignmentRule | undefined {
  const aliases = (address: number, length: number) => proofs.prove(classAt(BigInt(address), length)).aliases;
  if (!aliases(4096, 64)) return undefined;
  const length = aliases(4096, 1) ? 1 : 64;
  let address = 4096;
  while (address > 1 && aliases(address / 2, length)) address /= 2;
  return { name: `${name}: in place`, address, length, advice: true, source: `proven on ${name} (${device.platform})` };
}

export function subBufferRuleOf({ name, subBufferAlign: address }: BaseContext): AlignmentRule {
  const source = "CL_DEVICE_MEM_BASE_ADDR_ALIGN";
  return { name: `${name}: sub-buffers`, address, length: 1, advice: false, source };
}
