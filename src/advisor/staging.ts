import { callOf } from "./call.ts";
import { type AllocationFlag, flagsOf } from "./flags.ts";
import type { AdvisedKind } from "./kind.ts";
import type { Situation } from "./request.ts";
import type { AdvisorRowId } from "./rows/mod.ts";

/** The CPU's end of the copies, where the CPU cannot reach the memory itself. */
export interface Staging {
  /** What it is made of. */
  readonly kind: Exclude<AdvisedKind, "device" | "managed">;
  /** Flags of its allocation. */
  readonly flags: readonly AllocationFlag[];
  /** The call of samepage's that makes it, its shape and dtype left out; missing for a buffer that stays as it is. */
  readonly call?: string;
  /** The rows that ask for it. */
  readonly rules: readonly AdvisorRowId[];
}

/** From where a buffer is copied to device memory, and to where it comes back. */
export function stagingOf(situation: Situation, excluded: ReadonlySet<AdvisedKind>): Staging {
  const { device, cpu, existing } = situation;
  if (!device.coherent && cpu === "repeated") {
    return { ...pageable(existing), rules: ["003/3.2/repeated-incoherent"] };
  }
  if (existing && excluded.has("registered")) return { ...pageable(existing), rules: ["own/rule/copied"] };
  const kind = existing ? "registered" : "pinned";
  const { flags, rules } = flagsOf(kind, "copies", situation);
  return { kind, flags, call: callOf(kind, flags), rules: ["003/3.2/transfers", ...rules] };
}

function pageable(existing: boolean): Omit<Staging, "rules"> {
  return { kind: "pageable", flags: [], ...(existing ? {} : { call: callOf("pageable", []) }) };
}
