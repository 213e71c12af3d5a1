import type { Names } from "../core/argument.ts";
import { fields, oneOf, whole, wrong, yesOrNo } from "./check.ts";
import { CPU_PATTERNS, type CpuPattern, GPU_PATTERNS, type GpuPattern } from "./pattern.ts";
import { type CudaDeviceTraits, type Device, deviceIn } from "./traits.ts";

/**
 * Bytes up to which a buffer is small by default. "CUDA for Tegra" gives no number. This one is what an SoC's DRAM
 * moves (at 30 to 60 GB/s) while one kernel is launched (2.5 to 4 µs, as measured on an H200's host): in one pass over
 * a small buffer, no cache can gain more than that.
 */
export const SMALL_BYTES = 131_072;

/** A buffer, who uses it, and how. */
export interface AdviseRequest {
  /** Bytes. */
  readonly size: number;
  /** What the CPU does with it. */
  readonly cpu: CpuPattern;
  /** What one pass of the GPU does with it. */
  readonly gpu: GpuPattern;
  /** How many times the GPU goes over it for each time that the CPU has used it; 1 by default. */
  readonly repeats?: number;
  /** The GPU. */
  readonly device: CudaDeviceTraits;
  /** Is it there already, as pageable memory of the host? */
  readonly existing?: boolean;
  /** How many CUDA contexts of this process use it, one for each of several devices; 1 by default. */
  readonly contexts?: number;
  /**
   * Does the GPU write to it? `false` promises that it only reads. Where nothing is said, only that is advised which is
   * right either way.
   */
  readonly gpuWrites?: boolean;
  /** Must latencies be predictable, as in a safe or a real-time context? */
  readonly safety?: boolean;
  /** Bytes up to which a buffer counts as small; {@link SMALL_BYTES} by default, since the document names no number. */
  readonly smallUpTo?: number;
}

const FIELDS: Names<AdviseRequest> = {
  size: true,
  cpu: true,
  gpu: true,
  repeats: true,
  device: true,
  existing: true,
  contexts: true,
  gpuWrites: true,
  safety: true,
  smallUpTo: true,
};

/** A request that was checked, and what the rules ask of it. */
export interface Situation extends Omit<Required<AdviseRequest>, "device" | "gpuWrites"> {
  /** The device, checked. */
  readonly device: Device;
  /** Undefined where nobody has said. */
  readonly gpuWrites: boolean | undefined;
  /** Does the document's word for small buffers hold? */
  readonly small: boolean;
  /** Does the GPU come back to the same bytes, in one pass or by several? */
  readonly repetitive: boolean;
}

/** What a request comes to; each of its fields is read once. @throws {ArgumentError} where one is missing or wrong. */
export function situationIn(request: AdviseRequest): Situation {
  const { size, cpu, gpu, repeats = 1, device, existing = false, contexts = 1, gpuWrites, safety = false, smallUpTo } =
    fields(request, FIELDS, "request");
  const asked = {
    size: whole(size, "size", 1),
    cpu: oneOf(cpu, CPU_PATTERNS, "cpu"),
    gpu: oneOf(gpu, GPU_PATTERNS, "gpu"),
    repeats: whole(repeats, "repeats", 1),
    device: deviceIn(device, "device"),
    existing: yesOrNo(existing, "existing"),
    contexts: whole(contexts, "contexts", 1),
    gpuWrites: gpuWrites === undefined ? undefined : yesOrNo(gpuWrites, "gpuWrites"),
    safety: yesOrNo(safety, "safety"),
    smallUpTo: whole(smallUpTo ?? SMALL_BYTES, "smallUpTo", 0),
  };
  if (cpu === "none" && gpu === "none") throw wrong("gpu", "neither the CPU nor the GPU uses the buffer.");
  if (cpu === "none" && existing) {
    throw wrong(
      "cpu",
      "a buffer that exists already is one that the CPU uses.",
      'One that it only fills: "write-once".',
    );
  }
  return {
    ...asked,
    small: asked.size <= asked.smallUpTo,
    repetitive: gpu === "repeated" || (gpu === "coalesced" && repeats > 1),
  };
}
