/** What CUDA for Tegra says, in our own words. Its tables are in `tables.ts`. */
export const TEGRA_ROWS = {
  // §2, memory management
  "003/2/same-dram": "On a Tegra, device, host and unified memory share the SoC's DRAM: a copy of the bytes there, " +
    "and the time it takes, can be saved.",
  "003/2/own-dram": "A discrete GPU's device memory is in DRAM of its own.",

  // §3.1, memory selection
  "003/3.1/device-gpu-only":
    "A buffer that only the GPU uses, such as one between two kernels, belongs in device memory.",
  "003/3.1/pageable-cpu-only": "A buffer that only the CPU uses belongs in pageable host memory.",
  "003/3.1/coherent": "A Tegra is I/O coherent from compute capability 7.2 on: its CPU caches pinned memory, and " +
    "accesses it as fast as pageable memory.",
  "003/3.1/incoherent": "A Tegra below compute capability 7.2 is not I/O coherent: its CPU does not cache pinned " +
    "memory, and takes longer to access it.",
  "003/3.1/pinned-small": "A small buffer belongs in pinned memory: caches gain next to nothing, and pinned memory " +
    "has no overhead like unified memory's.",
  "003/3.1/pinned-scattered": "A large buffer that the integrated GPU accesses in an order that suits no cache is " +
    "better in pinned memory, which has no overhead of its own.",
  "003/3.1/pinned-once": "A large buffer that the integrated GPU accesses once, coalesced, can be as fast in pinned " +
    "as in unified memory.",
  "003/3.1/maintenance":
    "Unified memory costs cache maintenance: at each launch, each synchronization and each prefetching hint.",
  "003/3.1/maintenance-incoherent": "Below compute capability 7.2 the cache maintenance of unified memory, at each " +
    "launch, synchronization and hint, costs slightly more.",
  "003/3.1/managed-repeated": "With I/O coherency, a large buffer that CPU and GPU both use often, and the GPU " +
    "repeatedly, is better in unified memory: both cache it, which can outweigh the cache maintenance.",
  "003/3.1/managed-incoherent": "Without I/O coherency, a large buffer that CPU and GPU both use often is better in " +
    "unified memory even if the GPU does not use it repeatedly: neither caches pinned memory, and this way the CPU can.",
  "003/3.1/shared": "The CPU and the integrated GPU both access pinned and unified memory directly, so either saves " +
    "the transfer of an input or output.",
  "003/3.1/safety": "On today's Tegras software keeps unified memory coherent, at times that are not deterministic: " +
    "where safety matters the document advises against it, and prefers pinned memory.",
  "003/3.1/evaluate": "Whether unified memory's overhead, pinned memory's cache misses or the transfers to device " +
    "memory cost most has to be measured in the application.",

  // §3.2, pinned memory
  "003/3.2/transfers": "Pinned memory makes transfers between an x86 host and its discrete GPU faster, and lets them " +
    "run beside kernels.",
  "003/3.2/repeated-incoherent":
    "Without I/O coherency, repeated use of pinned memory slows the CPU down, because it " +
    "does not cache that memory.",
  "003/3.2/read-time": "If the CPU's work on uncached pinned memory takes much longer than the kernels, use unified " +
    "memory; else measure the application with both.",
  "003/3.2/host-register": "A Tegra below compute capability 7.2 has no I/O coherency, and so no cudaHostRegister.",
  "003/3.2/pinned-instead":
    "Where cudaHostRegister is not supported, cudaHostAlloc or cudaMallocHost provides pinned memory.",
  "003/3.2/gnu-atomics": "A Tegra's CPU has no GNU atomics on uncached memory, which pinned memory is below compute " +
    "capability 7.2.",

  // §3.3, effective usage of unified memory
  "003/3.3/latency": "The GPU does the cache maintenance of unified memory in step with its other work, which can " +
    "make latencies unpredictable.",
  "003/3.3/hints":
    "cudaStreamAttachMemAsync is a prefetching hint: with it the driver has less to do to keep unified " +
    "memory coherent.",
  "003/3.3/no-prefetch-async": "Prefetching with cudaMemPrefetchAsync is not supported on a Tegra.",
  "003/3.3/qnx": "On QNX the hints of cudaStreamAttachMemAsync gain nothing.",
  "003/3.3/attach-input": "A buffer that the CPU fills first is allocated attached to the host, and attached to the " +
    "GPU before the kernel that needs it.",
  "003/3.3/attach-output":
    "A buffer whose results the CPU needs is attached to the host after the kernel, before the " +
    "wait for the stream.",
  "003/3.3/synchronize": "A cudaStreamSynchronize between the kernel and cudaStreamAttachMemAsync avoids callback " +
    "threads, whose timing is unpredictable.",

  // §3.4, GPU selection
  "003/3.4/kernel-time": "Which GPU is better depends on how long the kernels take on each.",
  "003/3.4/transfer-time": "Work on a discrete GPU beside a Tegra has to wait for the transfer of its data between " +
    "the SoC and that GPU.",
  "003/3.4/locality": "Which GPU is better depends on where the data is.",
  "003/3.4/latency": "Which GPU is better depends on the latency of each.",
  "003/3.4/no-transfer": "The integrated GPU needs no transfer between the SoC and a discrete GPU.",

  // §3.5, synchronization mechanism selection
  "003/3.5/blocking-before-10.1":
    "Before CUDA 10.1, a wait for the integrated GPU blocks the CPU thread unless another flag is set.",
  "003/3.5/blocking": "Blocking the CPU thread until the device is done suits platforms that must save power.",
  "003/3.5/spin": "Where latency must be low, set cudaDeviceScheduleSpin explicitly.",
  "003/3.5/platform-default": "Since CUDA 10.1 each platform's default is what works best there.",

  // §3.6, unsupported features
  "003/3.6/host-register-qnx": "cudaHostRegister is not supported on QNX.",
  "003/3.6/host-register": "On a Tegra with Linux, cudaHostRegister is supported from compute capability 7.2 on.",
  "003/3.6/system-atomics": "System-wide atomics are not supported on a Tegra below compute capability 7.2.",
  "003/3.6/managed-dgpu": "Unified memory is not supported on a discrete GPU that is attached to a Tegra.",
  "003/3.6/prefetch-async": "cudaMemPrefetchAsync needs unified memory with concurrent access, which the integrated " +
    "GPU does not have yet.",
  "003/3.6/nvml": "NVIDIA's management library (NVML) is not supported on a Tegra.",
  "003/3.6/ipc": "CUDA IPC is not supported on a Tegra.",
  "003/3.6/rdma": "Remote direct memory access (RDMA) is not supported on a Tegra.",
  "003/3.6/jit-safety": "Compiling at run time (PTX, NVRTC) is not supported in a Tegra's safe context.",
  "003/3.6/jit": "Compiling at run time (PTX, NVRTC) takes much CPU time and bandwidth; the document advises against " +
    "it where an automotive application has to be deterministic.",
  "003/3.6/mps": "The multi-process service (MPS) is not supported on a Tegra.",
  "003/3.6/p2p": "Peer-to-peer calls between GPUs are not supported on a Tegra.",
  "003/3.6/cusolver-qnx": "The cuSOLVER library is not supported on a Tegra with QNX.",
  "003/3.6/nvgraph": "The nvGRAPH library is not supported on a Tegra.",
};
