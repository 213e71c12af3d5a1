import type { AdvisedKind } from "./kind.ts";
import type { Situation } from "./request.ts";
import type { AdvisorRowId } from "./rows/mod.ts";

/** One rule of the documents about which memory to use. */
export interface MemoryRule {
  /** The row that says it. */
  readonly row: AdvisorRowId;
  /** What it asks for. A buffer that exists already is registered where the rule asks for pinned memory. */
  readonly kind: Exclude<AdvisedKind, "registered">;
  /** Where it holds. */
  readonly when: (situation: Situation) => boolean;
  /** Rows that it stands on. */
  readonly also?: (situation: Situation) => readonly AdvisorRowId[];
}

const integrated = ({ device }: Situation) => device.place === "igpu";
const discrete = (situation: Situation) => !integrated(situation);

/** Whether the CPU caches pinned memory, as §3.1 says it of Tegras. */
const coherency = ({ device }: Situation): AdvisorRowId[] => [
  device.coherent ? "003/3.1/coherent" : "003/3.1/incoherent",
];

/** Why memory of its own suits a discrete GPU better than the host's. */
const ownMemory = ({ device }: Situation): AdvisorRowId[] => [
  "003/2/own-dram",
  ...(device.place === "tegra-dgpu" ? ["003/table-1/pinned/dgpu", "003/table-1/device/dgpu"] as const : []),
];

/**
 * In order: the first that holds, and whose kind is not excluded, decides. On an integrated GPU the exceptions come
 * before what they are exceptions of: §3.1 recommends pinned memory for accesses that suit no cache, but not where it
 * would take the cache from a CPU that uses it often.
 */
export const MEMORY_RULES: readonly MemoryRule[] = [
  { row: "003/3.1/pageable-cpu-only", kind: "pageable", when: ({ gpu }) => gpu === "none" },
  { row: "003/3.1/device-gpu-only", kind: "device", when: ({ cpu }) => cpu === "none" },

  {
    row: "003/3.1/safety",
    kind: "pinned",
    when: (it) => integrated(it) && it.safety,
    also: () => ["003/3.3/latency"],
  },
  { row: "003/3.1/pinned-small", kind: "pinned", when: (it) => integrated(it) && it.small },
  {
    row: "003/3.1/managed-incoherent",
    kind: "managed",
    when: (it) => integrated(it) && !it.device.coherent && it.cpu === "repeated",
    also: () => ["003/3.2/repeated-incoherent"],
  },
  {
    row: "003/3.1/pinned-scattered",
    kind: "pinned",
    when: (it) => integrated(it) && it.gpu === "scattered",
    also: coherency,
  },
  {
    row: "003/3.1/managed-repeated",
    kind: "managed",
    when: (it) => integrated(it) && it.device.coherent && it.cpu === "repeated" && it.repetitive,
    also: () => ["003/table-1/managed/cpu", "003/table-1/managed/igpu"],
  },
  {
    row: "own/rule/gpu-repeats",
    kind: "managed",
    when: (it) => integrated(it) && it.repetitive,
    also: () => ["003/table-1/managed/igpu", "003/table-1/pinned/igpu"],
  },
  {
    row: "003/3.1/pinned-once",
    kind: "pinned",
    when: (it) => integrated(it) && !it.repetitive,
    also: coherency,
  },
  { row: "003/3.1/shared", kind: "pinned", when: integrated },
  { row: "003/3.1/shared", kind: "managed", when: integrated },

  {
    row: "best/zero-copy/coalesced",
    kind: "device",
    when: (it) => discrete(it) && it.gpu === "scattered",
    also: ownMemory,
  },
  {
    row: "003/3.2/repeated-incoherent",
    kind: "device",
    when: (it) => discrete(it) && !it.device.coherent && it.cpu === "repeated",
  },
  { row: "best/zero-copy/once", kind: "device", when: (it) => discrete(it) && it.repetitive, also: ownMemory },
  {
    row: "002/zero-copy/in-place",
    kind: "pinned",
    when: discrete,
    also: () => ["best/zero-copy/once", "best/zero-copy/coalesced"],
  },

  { row: "own/rule/copied", kind: "device", when: () => true },
];
