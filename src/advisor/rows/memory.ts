/** What CUDA for Tegra says in §2 (memory management) and §3.1 (memory selection). */
export type MemoryRowId =
  | `003/2/${"same-dram" | "own-dram"}`
  | `003/3.1/${
    | "device-gpu-only"
    | "pageable-cpu-only"
    | "coherent"
    | "incoherent"
    | "pinned-small"
    | "pinned-scattered"
    | "pinned-once"
    | "maintenance"
    | "maintenance-incoherent"
    | "managed-repeated"
    | "managed-incoherent"
    | "shared"
    | "safety"
    | "evaluate"}`;

/** In our own words. */
export const MEMORY_ROWS: Readonly<Record<MemoryRowId, string>> = {
  "003/2/same-dram":
    "On a Tegra, device, host and unified memory are all in the one DRAM of the SoC: a second copy of the bytes " +
    "there, and the time to make it, can be spared.",
  "003/2/own-dram": "Device memory of a discrete GPU lies in DRAM of its own.",

  "003/3.1/device-gpu-only":
    "A buffer that only the GPU touches, such as one between two kernels, belongs in device memory.",
  "003/3.1/pageable-cpu-only": "A buffer that only the CPU touches belongs in pageable host memory.",
  "003/3.1/coherent":
    "A Tegra is I/O coherent from compute capability 7.2: its CPU caches pinned memory, and reaches it as fast as " +
    "pageable memory.",
  "003/3.1/incoherent":
    "A Tegra is not I/O coherent below compute capability 7.2: its CPU does not cache pinned memory, and takes " +
    "longer to reach it.",
  "003/3.1/pinned-small":
    "A small buffer belongs in pinned memory: caches gain it next to nothing, and pinned memory has none of unified " +
    "memory's overhead.",
  "003/3.1/pinned-scattered":
    "A large buffer that the integrated GPU goes through in no order that suits a cache is better in pinned memory, " +
    "which has no overhead of its own.",
  "003/3.1/pinned-once":
    "A large buffer that the integrated GPU goes over once, coalesced, can be as fast in pinned as in unified memory.",
  "003/3.1/maintenance":
    "Unified memory costs cache maintenance: at each launch, at each synchronization, and at each prefetching hint.",
  "003/3.1/maintenance-incoherent":
    "The cache maintenance of unified memory, at each launch, synchronization and hint, costs slightly more below " +
    "compute capability 7.2.",
  "003/3.1/managed-repeated":
    "With I/O coherency, a large buffer that CPU and GPU both use often, and the GPU repeatedly, is better in " +
    "unified memory: both cache it, and what that saves can outweigh the cache maintenance.",
  "003/3.1/managed-incoherent":
    "Without I/O coherency, a large buffer that CPU and GPU both use often is better in unified memory even where " +
    "the GPU does not use it repeatedly: neither caches pinned memory, and this way the CPU at least has its cache.",
  "003/3.1/shared":
    "CPU and integrated GPU reach both pinned and unified memory directly, so either spares an input or an output " +
    "its transfer.",
  "003/3.1/safety":
    "Software keeps unified memory coherent on today's Tegras, and when it does so is not deterministic: where " +
    "safety counts it is advised against, and pinned memory is preferred.",
  "003/3.1/evaluate":
    "What weighs most, overheads of unified memory, misses in pinned memory or transfers to device memory, has to be " +
    "measured in the application.",
};
