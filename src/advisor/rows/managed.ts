/** What CUDA for Tegra says in §3.3 (effective usage of unified memory). */
export type ManagedRowId = `003/3.3/${
  | "latency"
  | "hints"
  | "no-prefetch-async"
  | "qnx"
  | "attach-input"
  | "attach-output"
  | "synchronize"}`;

/** In our own words. */
export const MANAGED_ROWS: Readonly<Record<ManagedRowId, string>> = {
  "003/3.3/latency":
    "The cache maintenance of unified memory is done in step with other work of the GPU, which can make latencies " +
    "unpredictable.",
  "003/3.3/hints":
    "cudaStreamAttachMemAsync is a prefetching hint, by which the driver can do less to keep unified memory coherent.",
  "003/3.3/no-prefetch-async": "Prefetching with cudaMemPrefetchAsync is not supported on a Tegra.",
  "003/3.3/qnx": "On QNX the hints of cudaStreamAttachMemAsync gain nothing.",
  "003/3.3/attach-input":
    "What the CPU fills first is allocated attached to the host, and attached to the GPU ahead of the kernel that " +
    "needs it.",
  "003/3.3/attach-output":
    "What the CPU needs of a kernel's results is attached to the host behind it, before the stream is waited for.",
  "003/3.3/synchronize":
    "A cudaStreamSynchronize between the kernel and cudaStreamAttachMemAsync spares that call its callback threads, " +
    "whose timing is unpredictable.",
};
