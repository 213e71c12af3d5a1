/**
 * What other documents of NVIDIA's say, to which CUDA for Tegra points where it is silent itself: the Best Practices
 * Guide and the Programming Guide (§1: they hold for Tegra too), and the reference of the runtime API (§3.5).
 */
export type NvidiaRowId =
  | `best/zero-copy/${"once" | "coalesced"}`
  | "programming/coherency/cpu-waits"
  | `cuda/cudaSetDeviceFlags/${"auto" | "spin" | "yield"}`
  | "cuda/cudaDeviceProp/pageable-access"
  | "cuda/cudaFree/device"
  | "cuda/cudaHostAlloc/page-locked"
  | `cuda/cudaHostRegister/${"attribute" | "read-only"}`
  | `cuda/cudaMallocManaged/${"attribute" | "migrates" | "free"}`
  | "cuda/cudaMemPrefetchAsync/concurrent"
  | "cuda/cudaStreamAttachMemAsync/one-stream";

/** In our own words. */
export const NVIDIA_ROWS: Readonly<Record<NvidiaRowId, string>> = {
  "best/zero-copy/once":
    "A discrete GPU does not cache mapped pinned memory, so that pays only where each byte is read or written once.",
  "best/zero-copy/coalesced":
    "Accesses of a discrete GPU to mapped pinned memory have to be coalesced, or that does not pay.",
  "programming/coherency/cpu-waits":
    "Where concurrentManagedAccess is 0 the CPU must not touch managed memory while a kernel runs, unless it is " +
    "attached to the host or to another stream.",
  "cuda/cudaSetDeviceFlags/auto":
    "cudaDeviceScheduleAuto yields where there are more CUDA contexts than processors and spins elsewhere; on a " +
    "Tegra short of power it may block.",
  "cuda/cudaSetDeviceFlags/spin":
    "Spinning can lower the latency of a wait, and takes time from the CPU's threads that work beside it.",
  "cuda/cudaSetDeviceFlags/yield":
    "Yielding can make a wait's latency higher, and leaves more time to the CPU's threads that work beside it.",
  "cuda/cudaDeviceProp/pageable-access":
    "A GPU reaches pageable host memory only where its attribute pageableMemoryAccess is 1; what that costs is for a " +
    "measurement to say.",
  "cuda/cudaFree/device": "What cudaMalloc gave goes back by cudaFree.",
  "cuda/cudaHostAlloc/page-locked":
    "Page-locked memory is taken from what the system can page: it is used sparingly, where transfers need it.",
  "cuda/cudaHostRegister/attribute":
    "cudaHostRegister is supported only on devices whose attribute hostRegisterSupported is 1.",
  "cuda/cudaHostRegister/read-only":
    "cudaHostRegisterReadOnly is an error where the attribute hostRegisterReadOnlySupported is 0, so it is left out.",
  "cuda/cudaMallocManaged/attribute": "cudaMallocManaged is an error where the attribute managedMemory is 0.",
  "cuda/cudaMallocManaged/migrates":
    "Between a CPU and a discrete GPU, pages of managed memory migrate to whoever touches them.",
  "cuda/cudaMallocManaged/free": "What cudaMallocManaged gave goes back by cudaFree.",
  "cuda/cudaMemPrefetchAsync/concurrent":
    "Where concurrentManagedAccess is 1, cudaMemPrefetchAsync migrates managed memory to the processor that is next.",
  "cuda/cudaStreamAttachMemAsync/one-stream":
    "Memory that is attached to one stream is the CPU's as soon as that stream is done, whatever others do; the " +
    "default stream is none to attach to.",
};
