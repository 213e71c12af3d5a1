import { object } from "../core/argument.ts";
import { objectOf, oneOf, time, wrong } from "./check.ts";
import type { Rule } from "./facts.ts";
import { type CpuPattern, type GpuPattern, SMALL_BYTES } from "./request.ts";
import type { AdvisorRowId, RowId } from "./rows/mod.ts";

/** A measurement: memory that kernels use in place, against the same work with copies to and from device memory. */
export interface ClaimCase {
  /** Bytes. */
  readonly size: number;
  /** What the CPU does with them between two rounds; it is not measured. */
  readonly cpu: CpuPattern;
  /** How a pass of the GPU accesses them. */
  readonly gpu: GpuPattern;
  /** Bytes from one access of a thread to the next, if accesses are not coalesced. */
  readonly stride?: number;
  /** Passes of the GPU for each use by the CPU. */
  readonly repeats: number;
  /** The host memory of the copies. */
  readonly copies: "pinned" | "pageable";
  /** The buffer exists already: in place, the measured time includes registering and unregistering it. */
  readonly existing?: true;
}

/** A rule's statement about time on a discrete GPU, which can be measured. */
export interface Claim {
  /** Its name. */
  readonly id: string;
  /** The rule. */
  readonly row: AdvisorRowId;
  /** `"tegra"`: a rule about integrated GPUs, tried on a discrete one. `advise` does not apply it there. */
  readonly about: "discrete" | "tegra";
  /** The claim in a sentence. */
  readonly statement: string;
  /** The faster way, if the rule holds. */
  readonly expected: "mapped-faster" | "copy-faster";
  /** What to measure. */
  readonly case: ClaimCase;
}

/** A frame of 3840 × 2160 RGBA through one kernel and back. */
const FRAME: ClaimCase = { size: 33_177_600, cpu: "read-write", gpu: "coalesced", repeats: 1, copies: "pinned" };
const SMALL: ClaimCase = { ...FRAME, size: SMALL_BYTES / 2 };
/** The frame, with neighbouring threads so far apart that they share no cache line. */
const STRIDED: ClaimCase = { ...FRAME, gpu: "scattered", stride: 256 };

/** The claims of {@link advise} about a discrete GPU, and two Tegra rules beside them. */
export const CLAIMS: readonly Claim[] = Object.freeze<Claim[]>([
  {
    id: "upload-once",
    row: "002/zero-copy/in-place",
    about: "discrete",
    statement: "A frame that the CPU writes and a kernel reads once takes less time in mapped memory than with a copy.",
    expected: "mapped-faster",
    case: { ...FRAME, cpu: "write-once" },
  },
  {
    id: "download-once",
    row: "002/zero-copy/in-place",
    about: "discrete",
    statement: "A frame that a kernel writes once reaches the CPU sooner in mapped memory than by a copy.",
    expected: "mapped-faster",
    case: { ...FRAME, cpu: "read-once" },
  },
  {
    id: "round-trip-once",
    row: "002/zero-copy/in-place",
    about: "discrete",
    statement: "A frame through one kernel and back takes less time in mapped memory than with pinned copies.",
    expected: "mapped-faster",
    case: FRAME,
  },
  {
    id: "round-trip-once-pageable",
    row: "002/zero-copy/in-place",
    about: "discrete",
    statement: "A frame through one kernel and back takes less time in mapped memory than with pageable copies.",
    expected: "mapped-faster",
    case: { ...FRAME, copies: "pageable" },
  },
  {
    id: "existing-once",
    row: "002/cudaHostRegister/existing",
    about: "discrete",
    statement: "A frame in pageable memory goes through one kernel and back sooner if it is registered than if copied.",
    expected: "mapped-faster",
    case: { ...FRAME, copies: "pageable", existing: true },
  },
  {
    id: "small-once",
    row: "002/zero-copy/in-place",
    about: "discrete",
    statement: "A small buffer through one kernel and back takes less time in mapped memory than with pinned copies.",
    expected: "mapped-faster",
    case: SMALL,
  },
  {
    id: "many-passes",
    row: "best/zero-copy/once",
    about: "discrete",
    statement: "Kernels that go over a frame 16 times take less time with pinned copies than in mapped memory.",
    expected: "copy-faster",
    case: { ...FRAME, repeats: 16 },
  },
  {
    id: "small-many-passes",
    row: "best/zero-copy/once",
    about: "discrete",
    statement: "Kernels that go over a small buffer 16 times take less time with pinned copies than in mapped memory.",
    expected: "copy-faster",
    case: { ...SMALL, repeats: 16 },
  },
  {
    id: "same-bytes-again",
    row: "best/zero-copy/once",
    about: "discrete",
    statement: "A kernel that reads the same bytes again takes less time with pinned copies than in mapped memory.",
    expected: "copy-faster",
    case: { ...FRAME, gpu: "repeated" },
  },
  {
    id: "strided",
    row: "best/zero-copy/coalesced",
    about: "discrete",
    statement: "One pass with strided accesses takes less time with pinned copies than in mapped memory.",
    expected: "copy-faster",
    case: STRIDED,
  },
  {
    id: "tegra-strided",
    row: "003/3.1/pinned-scattered",
    about: "tegra",
    statement:
      "Accesses that suit no cache take less time in pinned memory: true of an integrated GPU. Of a discrete one?",
    expected: "mapped-faster",
    case: STRIDED,
  },
  {
    id: "tegra-small-many-passes",
    row: "003/3.1/pinned-small",
    about: "tegra",
    statement: "Small buffers belong in pinned memory: true of an integrated GPU. Of a discrete one too?",
    expected: "mapped-faster",
    case: { ...SMALL, repeats: 16 },
  },
]);

/** Two times in the same unit, of the same work. */
export interface MeasuredClaim {
  /** In mapped or registered memory, in place. */
  readonly mapped: number;
  /** With copies to and from device memory. */
  readonly copied: number;
}

const EXPECTED = oneOf<Claim["expected"]>(["mapped-faster", "copy-faster"]);

const TIMES = objectOf({ mapped: time, copied: time });

/** The result of a claim's measurement. */
export interface ClaimVerdict {
  /** `"even"`: the two times are within five percent of each other. */
  readonly verdict: "holds" | "differs" | "even";
  /** The copies' time divided by mapped memory's: above 1, mapped memory is faster. */
  readonly ratio: number;
}

/** A claim's measurement on one GPU. */
export interface ClaimMeasurement extends ClaimVerdict {
  /** The claim's id. */
  readonly claim: string;
  /** The GPU's name. */
  readonly gpu: string;
  /** The versions of the driver and of CUDA. */
  readonly versions: string;
}

/** Up to this ratio two times count as even, because timings are noisy. */
const EVEN = 1.05;

/**
 * Compares a measurement with the claim.
 *
 * @throws {ArgumentError} for a time that is not a number above 0.
 *
 * @example
 * ```ts
 * import { CLAIMS, judgeClaim } from "@samepage/interop/advisor";
 *
 * const claim = CLAIMS.find(({ id }) => id === "round-trip-once")!;
 * console.log(judgeClaim(claim, { mapped: 850, copied: 1230 }).verdict); // holds
 * ```
 */
export function judgeClaim(claim: Pick<Claim, "expected">, measured: MeasuredClaim): ClaimVerdict {
  const expected = EXPECTED(object(claim, "claim").expected, "claim.expected");
  const { mapped, copied } = TIMES(measured, "measured");
  if (mapped === 0) throw wrong("measured.mapped", "expected a time above 0, got 0.");
  if (copied === 0) throw wrong("measured.copied", "expected a time above 0, got 0.");
  const ratio = copied / mapped;
  if (ratio < EVEN && ratio > 1 / EVEN) return { verdict: "even", ratio };
  return { verdict: (ratio > 1) === (expected === "mapped-faster") ? "holds" : "differs", ratio };
}

/** The ratio of each claim on an H200, in the order of {@link CLAIMS}: those of bench/results/cuda-h200.json, rounded. */
const RATIOS = [1.01, 0.97, 1.45, 8.82, 3.44, 1.57, 0.11, 1.06, 0.14, 0.06, 0.06, 0.91];

/** The measurement of every claim on an H200. */
export const MEASURED_CLAIMS: readonly ClaimMeasurement[] = Object.freeze(
  CLAIMS.map((claim, i) => ({
    claim: claim.id,
    gpu: "NVIDIA H200",
    versions: "driver 580.159.04, CUDA 13.0",
    ...judgeClaim(claim, { mapped: 1, copied: RATIOS[i] }),
  })),
);

/** The claims about discrete GPUs that their measurement refuted. */
const REFUTED: readonly Claim[] = CLAIMS.filter(({ about }, i) =>
  about === "discrete" && MEASURED_CLAIMS[i].verdict !== "holds"
);

/** Their rows: the claim, and what was measured instead. */
export const MEASURED_ROWS: ReadonlyMap<RowId, string> = new Map(REFUTED.map((claim) => {
  const { gpu, verdict, ratio } = MEASURED_CLAIMS[CLAIMS.indexOf(claim)];
  const found = verdict === "even" ? "there was no difference" : "the opposite was measured";
  const says = `${
    claim.statement.slice(0, -1)
  }, says the rule; on an ${gpu} ${found}: copies took ${ratio} times as long.`;
  return [rowOf(claim), says];
}));

/** Cautions for advice that rests on the rule of a refuted claim, in a situation like the measured one. */
export const MEASURED_CAUTIONS: readonly Rule[] = REFUTED.map((claim): Rule => {
  const { size, cpu, gpu, repeats, existing } = claim.case;
  return {
    row: rowOf(claim),
    when: [
      "!igpu",
      `by ${claim.row}`,
      claim.expected === "copy-faster" ? "kind device" : "!kind device",
      `cpu ${cpu}`,
      `gpu ${gpu}`,
      repeats > 1 ? "several passes" : "!several passes",
      size <= SMALL_BYTES ? "small" : "!small",
      existing ? "existing" : "!existing",
    ],
  };
});

function rowOf({ id }: Claim): RowId {
  return `own/measured/${id}` as RowId;
}
