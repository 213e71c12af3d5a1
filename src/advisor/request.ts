import { oneOf, optional, requestIn, whole, wrong, yesOrNo } from "./check.ts";
import { type Fact, type Facts, factsIn } from "./facts.ts";
import { type CudaDeviceTraits, deviceIn } from "./traits.ts";

/**
 * What the CPU does with a buffer between two uses by the GPU: nothing; fill it, never read it; read it, never write it;
 * both once (input in, result out); or go over it again and again.
 */
export type CpuPattern = "none" | "write-once" | "read-once" | "read-write" | "repeated";

/**
 * How the GPU accesses a buffer in one pass: not at all; each byte once, with coalesced accesses; the same bytes again and
 * again (a matrix product); or in an order that suits no cache (a large stride, an index).
 */
export type GpuPattern = "none" | "coalesced" | "repeated" | "scattered";

/** All of them. */
export const CPU_PATTERNS: readonly CpuPattern[] = Object.freeze(
  ["none", "write-once", "read-once", "read-write", "repeated"] as const,
);

/** All of them. */
export const GPU_PATTERNS: readonly GpuPattern[] = Object.freeze(
  ["none", "coalesced", "repeated", "scattered"] as const,
);

/**
 * A buffer of at most this many bytes is small by default. "CUDA for Tegra" gives no number. This is what an SoC's DRAM
 * moves (at 30 to 60 GB/s) in the time of one kernel launch (2.5 to 4 µs, measured on an H200's host): in one pass over a
 * small buffer, a cache cannot save more than that.
 */
export const SMALL_BYTES = 131_072;

/** A buffer, and how it is used. */
export interface AdviseRequest {
  /** Its size in bytes. */
  readonly size: number;
  /** What the CPU does with it. */
  readonly cpu: CpuPattern;
  /** What one pass of the GPU does with it. */
  readonly gpu: GpuPattern;
  /** How many times the GPU goes over it for each use by the CPU; 1 by default. */
  readonly repeats?: number;
  /** The GPU. */
  readonly device: CudaDeviceTraits;
  /** True if the buffer exists already, in pageable host memory; `false` by default. */
  readonly existing?: boolean;
  /** How many CUDA contexts of this process use it, one for each device; 1 by default. */
  readonly contexts?: number;
  /** True if the GPU writes to it; `false` promises that it only reads. If left out, the advice is right either way. */
  readonly gpuWrites?: boolean;
  /** True if latencies must be predictable, as in safety-critical or real-time systems; `false` by default. */
  readonly safety?: boolean;
  /** A buffer of at most this many bytes counts as small; {@link SMALL_BYTES} by default. */
  readonly smallUpTo?: number;
}

const REQUEST = {
  size: whole(1),
  cpu: oneOf(CPU_PATTERNS),
  gpu: oneOf(GPU_PATTERNS),
  repeats: optional(whole(1), 1),
  device: deviceIn,
  existing: optional(yesOrNo, false),
  contexts: optional(whole(1), 1),
  gpuWrites: optional(yesOrNo, undefined),
  safety: optional(yesOrNo, false),
  smallUpTo: optional(whole(0), SMALL_BYTES),
};

/** The facts in a request. @throws {ArgumentError} for a field that is missing or wrong. */
export function factsOf(request: AdviseRequest): Facts {
  const { size, cpu, gpu, repeats, device, existing, contexts, gpuWrites, safety, smallUpTo } = requestIn(
    request,
    REQUEST,
  );
  if (cpu === "none" && gpu === "none") throw wrong("gpu", "neither the CPU nor the GPU uses the buffer.");
  if (cpu === "none" && existing) {
    throw wrong("cpu", "the CPU uses a buffer that exists already.", 'Use "write-once" if it only fills the buffer.');
  }
  return new Set<Fact>([
    ...device,
    ...factsOfCpu(cpu),
    `gpu ${gpu}`,
    ...factsIn({
      "gpu writes": gpuWrites === true,
      "gpu only reads": gpuWrites === false,
      "several passes": repeats > 1,
      "repetitive": gpu === "repeated" || (gpu === "coalesced" && repeats > 1),
      "small": size <= smallUpTo,
      existing,
      "several contexts": contexts > 1,
      safety,
    }),
  ]);
}

export function factsOfCpu(cpu: CpuPattern): Fact[] {
  return [
    `cpu ${cpu}`,
    ...factsIn({
      "cpu fills": cpu === "write-once" || cpu === "read-write" || cpu === "repeated",
      "cpu reads": cpu === "read-once" || cpu === "read-write" || cpu === "repeated",
    }),
  ];
}
