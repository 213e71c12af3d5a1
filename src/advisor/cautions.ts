import { type Caution, cautionOf } from "./caution.ts";
import { type Claim, CLAIMS } from "./claims.ts";
import type { AllocationFlag } from "./flags.ts";
import type { AdvisedKind } from "./kind.ts";
import { type Situation, SMALL_BYTES } from "./request.ts";
import { MEASURED_CLAIMS } from "./rows/measured.ts";
import type { AdvisorRowId } from "./rows/mod.ts";

/** What has been decided. */
interface Decided {
  readonly kind: AdvisedKind;
  readonly flags: readonly AllocationFlag[];
  readonly rules: readonly AdvisorRowId[];
  readonly closed: ReadonlySet<AdvisedKind>;
}

interface CautionRule {
  readonly row: AdvisorRowId;
  readonly when: (situation: Situation, decided: Decided) => boolean;
}

const CAUTIONS: readonly CautionRule[] = [
  {
    row: "own/rule/integrated-elsewhere",
    when: ({ device }) => device.integrated && device.system !== "tegra",
  },
  { row: "own/rule/safety-elsewhere", when: ({ safety, device }) => safety && device.system !== "tegra" },
  { row: "own/rule/small", when: (_, { rules }) => rules.includes("003/3.1/pinned-small") },
  {
    row: "own/rule/copied-once",
    when: ({ existing }, { kind }) => existing && (kind === "pinned" || kind === "managed"),
  },
  { row: "own/measured/register", when: (_, { kind }) => kind === "registered" },
  {
    row: "own/measured/write-combined",
    when: (_, { flags }) => flags.includes("cudaHostAllocWriteCombined"),
  },
  {
    row: "cuda/cudaHostRegister/read-only",
    when: ({ device, gpuWrites }, { kind }) =>
      kind === "registered" && gpuWrites === false && !device.hostRegisterReadOnlySupported,
  },
  {
    row: "003/3.2/read-time",
    when: ({ device }, { kind, closed }) =>
      kind === "pinned" && device.place === "igpu" && !device.coherent && !closed.has("managed"),
  },
  {
    row: "003/3.1/incoherent",
    when: ({ device }, { kind }) => kind === "pinned" && device.place === "tegra-dgpu" && !device.coherent,
  },
  {
    row: "003/3.2/gnu-atomics",
    when: ({ device }, { kind }) => kind === "pinned" && device.system === "tegra" && !device.coherent,
  },
  { row: "003/3.3/latency", when: ({ device }, { kind }) => kind === "managed" && device.place === "igpu" },
  {
    row: "programming/coherency/cpu-waits",
    when: ({ device }, { kind }) => kind === "managed" && !device.concurrentManagedAccess,
  },
  {
    row: "003/3.6/p2p",
    when: ({ device, contexts }, { kind }) => kind === "device" && contexts > 1 && device.system === "tegra",
  },
  {
    row: "003/3.1/evaluate",
    when: ({ device, cpu, gpu }) => device.place === "igpu" && cpu !== "none" && gpu !== "none",
  },
];

/** Where a rule was measured on a discrete GPU, and it did not come out as it says. */
const NOT_AS_RULED: readonly CautionRule[] = CLAIMS.filter(({ about, id }) =>
  about === "discrete" && MEASURED_CLAIMS.some(({ claim, verdict }) => claim === id && verdict !== "holds")
).map((claim) => ({
  row: `own/measured/${claim.id}` as AdvisorRowId,
  when: (situation, decided) => !situation.device.integrated && isOf(claim, situation, decided),
}));

/** Did the claim's rule decide, in a situation like the one that was measured? */
function isOf({ row, expected, case: it }: Claim, situation: Situation, { kind, rules }: Decided): boolean {
  const { cpu, gpu, repeats, existing, small } = situation;
  return rules.includes(row) && (kind === "device") === (expected === "copy-faster") &&
    cpu === it.cpu && gpu === it.gpu && (repeats > 1) === (it.repeats > 1) &&
    small === (it.size <= SMALL_BYTES) && existing === (it.existing ?? false);
}

/** What to look out for with what was decided. */
export function cautionsFor(situation: Situation, decided: Decided): Caution[] {
  return [...CAUTIONS, ...NOT_AS_RULED].filter(({ when }) => when(situation, decided)).map(({ row }) => cautionOf(row));
}
