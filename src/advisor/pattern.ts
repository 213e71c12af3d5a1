/**
 * What the CPU does with a buffer between two uses by the GPU: nothing, fill it and never read it, read it and never
 * write it, both once (input in, result out), or go over it again and again.
 */
export type CpuPattern = "none" | "write-once" | "read-once" | "read-write" | "repeated";

/**
 * How the GPU goes over a buffer in one pass: not at all, each byte once and neighbours together, back to the same
 * bytes again and again (a matrix product), or in an order that suits no cache (a large stride, an index).
 */
export type GpuPattern = "none" | "coalesced" | "repeated" | "scattered";

/** All of them. */
export const CPU_PATTERNS: readonly CpuPattern[] = Object.freeze([
  "none",
  "write-once",
  "read-once",
  "read-write",
  "repeated",
]);

/** All of them. */
export const GPU_PATTERNS: readonly GpuPattern[] = Object.freeze(["none", "coalesced", "repeated", "scattered"]);
