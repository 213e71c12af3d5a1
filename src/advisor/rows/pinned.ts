/** What CUDA for Tegra says in §3.2 (pinned memory); what it says of atomics there is in `unsupported.ts`. */
export type PinnedRowId = `003/3.2/${
  | "transfers"
  | "repeated-incoherent"
  | "read-time"
  | "host-register"
  | "pinned-instead"}`;

/** In our own words. */
export const PINNED_ROWS: Readonly<Record<PinnedRowId, string>> = {
  "003/3.2/transfers":
    "Pinned memory makes transfers between an x86 host and its discrete GPU shorter, and lets them run beside kernels.",
  "003/3.2/repeated-incoherent":
    "Without I/O coherency, going to pinned memory again and again slows an application down, because the CPU does " +
    "not cache it.",
  "003/3.2/read-time":
    "Where the CPU's work on uncached pinned memory takes much longer than the kernels, use unified memory; else " +
    "measure the application with both.",
  "003/3.2/host-register":
    "cudaHostRegister is not supported on a Tegra below compute capability 7.2, because that has no I/O coherency.",
  "003/3.2/pinned-instead":
    "Where cudaHostRegister is not supported, pinned memory comes from cudaHostAlloc or cudaMallocHost.",
};
