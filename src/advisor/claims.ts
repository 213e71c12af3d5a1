import type { Names } from "../core/argument.ts";
import { fields, time, wrong } from "./check.ts";
import type { CpuPattern, GpuPattern } from "./pattern.ts";
import type { AdvisorRowId } from "./rows/mod.ts";

/** What is measured: memory that kernels use in place, and the same by copies to and from device memory. */
export interface ClaimCase {
  /** Bytes. */
  readonly size: number;
  /** What the CPU does with them between two rounds; it is not measured. */
  readonly cpu: CpuPattern;
  /** How a pass of the GPU goes over them. */
  readonly gpu: GpuPattern;
  /** Bytes from one access of a thread to the next, where that is not coalesced. */
  readonly stride?: number;
  /** Passes of the GPU for each time that the CPU has used them. */
  readonly repeats: number;
  /** What the copies are made from and to. */
  readonly copies: "pinned" | "pageable";
  /** The buffer exists already: in place, it is registered before and unregistered after, in the measured time. */
  readonly existing?: true;
}

/** Something that a rule says about time on a discrete GPU, and a measurement can say too. */
export interface Claim {
  /** Names it. */
  readonly id: string;
  /** The rule. */
  readonly row: AdvisorRowId;
  /**
   * `"tegra"`: a rule about integrated GPUs, taken to a discrete one to see whether it holds there; advise does not.
   */
  readonly about: "discrete" | "tegra";
  /** What it comes to, in a sentence. */
  readonly statement: string;
  /** Which way is faster, if the rule holds. */
  readonly expected: "mapped-faster" | "copy-faster";
  /** What to measure. */
  readonly case: ClaimCase;
}

/** A frame of 3840 × 2160 RGBA. */
const FRAME = 33_177_600;
/** A buffer that is small (`SMALL_BYTES` of request.ts, halved). */
const SMALL = 65_536;
/** Neighbouring threads this far apart share no line of a cache. */
const STRIDE = 256;

const MAPPED = "mapped-faster";
const COPY = "copy-faster";

/** Every claim about a discrete GPU that can be measured: what {@link advise} would do, and Tegra's rules beside it. */
export const CLAIMS: readonly Claim[] = Object.freeze<Claim[]>([
  {
    id: "upload-once",
    row: "002/zero-copy/in-place",
    about: "discrete",
    statement:
      "A frame that the CPU has written and a kernel reads once is done sooner in mapped memory than by a copy.",
    expected: MAPPED,
    case: { size: FRAME, cpu: "write-once", gpu: "coalesced", repeats: 1, copies: "pinned" },
  },
  {
    id: "download-once",
    row: "002/zero-copy/in-place",
    about: "discrete",
    statement: "A frame that a kernel writes once is with the CPU sooner in mapped memory than by a copy.",
    expected: MAPPED,
    case: { size: FRAME, cpu: "read-once", gpu: "coalesced", repeats: 1, copies: "pinned" },
  },
  {
    id: "round-trip-once",
    row: "002/zero-copy/in-place",
    about: "discrete",
    statement: "A frame through one kernel and back takes less time in mapped memory than with pinned copies.",
    expected: MAPPED,
    case: { size: FRAME, cpu: "read-write", gpu: "coalesced", repeats: 1, copies: "pinned" },
  },
  {
    id: "round-trip-once-pageable",
    row: "002/zero-copy/in-place",
    about: "discrete",
    statement: "A frame through one kernel and back takes less time in mapped memory than with pageable copies.",
    expected: MAPPED,
    case: { size: FRAME, cpu: "read-write", gpu: "coalesced", repeats: 1, copies: "pageable" },
  },
  {
    id: "existing-once",
    row: "002/cudaHostRegister/existing",
    about: "discrete",
    statement: "A frame that exists in pageable memory goes through one kernel sooner registered for it than copied.",
    expected: MAPPED,
    case: { size: FRAME, cpu: "read-write", gpu: "coalesced", repeats: 1, copies: "pageable", existing: true },
  },
  {
    id: "small-once",
    row: "002/zero-copy/in-place",
    about: "discrete",
    statement: "A small buffer through one kernel and back takes less time in mapped memory than with pinned copies.",
    expected: MAPPED,
    case: { size: SMALL, cpu: "read-write", gpu: "coalesced", repeats: 1, copies: "pinned" },
  },
  {
    id: "many-passes",
    row: "best/zero-copy/once",
    about: "discrete",
    statement: "A frame that kernels go over 16 times is done sooner once it is copied than in mapped memory.",
    expected: COPY,
    case: { size: FRAME, cpu: "read-write", gpu: "coalesced", repeats: 16, copies: "pinned" },
  },
  {
    id: "small-many-passes",
    row: "best/zero-copy/once",
    about: "discrete",
    statement: "A small buffer that kernels go over 16 times is done sooner once it is copied than in mapped memory.",
    expected: COPY,
    case: { size: SMALL, cpu: "read-write", gpu: "coalesced", repeats: 16, copies: "pinned" },
  },
  {
    id: "same-bytes-again",
    row: "best/zero-copy/once",
    about: "discrete",
    statement: "A kernel that comes back to the same bytes is done sooner once they are copied than in mapped memory.",
    expected: COPY,
    case: { size: FRAME, cpu: "read-write", gpu: "repeated", repeats: 1, copies: "pinned" },
  },
  {
    id: "strided",
    row: "best/zero-copy/coalesced",
    about: "discrete",
    statement: "One pass with strided accesses is done sooner once the frame is copied than in mapped memory.",
    expected: COPY,
    case: { size: FRAME, cpu: "read-write", gpu: "scattered", stride: STRIDE, repeats: 1, copies: "pinned" },
  },
  {
    id: "tegra-strided",
    row: "003/3.1/pinned-scattered",
    about: "tegra",
    statement:
      "Pinned memory is preferred where accesses suit no cache: so it is on an integrated GPU. On a discrete one?",
    expected: MAPPED,
    case: { size: FRAME, cpu: "read-write", gpu: "scattered", stride: STRIDE, repeats: 1, copies: "pinned" },
  },
  {
    id: "tegra-small-many-passes",
    row: "003/3.1/pinned-small",
    about: "tegra",
    statement: "Pinned memory is recommended for small buffers: so it is on an integrated GPU. On a discrete one, too?",
    expected: MAPPED,
    case: { size: SMALL, cpu: "read-write", gpu: "coalesced", repeats: 16, copies: "pinned" },
  },
]);

/** Two times in the same unit, of the same work. */
export interface MeasuredClaim {
  /** In mapped or registered memory, in place. */
  readonly mapped: number;
  /** By copies and device memory. */
  readonly copied: number;
}

const TIMES: Names<MeasuredClaim> = { mapped: true, copied: true };

/** What a measurement says of a claim. */
export interface ClaimVerdict {
  /** `"even"`: the two are within five percent of each other. */
  readonly verdict: "holds" | "differs" | "even";
  /** How many times as long the copies take: above 1, mapped memory is faster. */
  readonly ratio: number;
}

/** What a claim came to on a GPU. */
export interface ClaimMeasurement extends ClaimVerdict {
  /** The claim's id. */
  readonly claim: string;
  /** The GPU's name. */
  readonly gpu: string;
  /** The driver, and CUDA. */
  readonly versions: string;
}

/** The two ways count as even up to this ratio, because timings are noisy. */
const EVEN = 1.05;

/**
 * Puts a measurement beside what the rule says.
 *
 * @throws {ArgumentError} where a time is not a number above 0.
 *
 * @example
 * ```ts
 * import { CLAIMS, judgeClaim } from "@samepage/interop/advisor";
 *
 * const claim = CLAIMS.find(({ id }) => id === "round-trip-once")!;
 * console.log(judgeClaim(claim, { mapped: 850, copied: 1230 }).verdict); // holds
 * ```
 */
export function judgeClaim({ expected }: Pick<Claim, "expected">, measured: MeasuredClaim): ClaimVerdict {
  const { mapped, copied } = fields(measured, TIMES, "measured");
  for (const [name, value] of [["mapped", mapped], ["copied", copied]] as const) {
    if (time(value, `measured.${name}`) === 0) throw wrong(`measured.${name}`, "nothing takes no time.");
  }
  const ratio = copied / mapped;
  if (ratio < EVEN && ratio > 1 / EVEN) return { verdict: "even", ratio };
  return { verdict: (ratio > 1) === (expected === MAPPED) ? "holds" : "differs", ratio };
}
