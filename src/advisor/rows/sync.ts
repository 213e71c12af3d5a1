/** What CUDA for Tegra says in §3.5 (synchronization mechanism selection). */
export type SyncRowId = `003/3.5/${"blocking-before-10.1" | "blocking" | "spin" | "platform-default"}`;

/** In our own words. */
export const SYNC_ROWS: Readonly<Record<SyncRowId, string>> = {
  "003/3.5/blocking-before-10.1":
    "Before CUDA 10.1, waiting for the integrated GPU blocks the CPU's thread unless another flag is set.",
  "003/3.5/blocking": "Blocking the CPU's thread until the device is done suits platforms that are short of power.",
  "003/3.5/spin": "Where latency has to be low, cudaDeviceScheduleSpin has to be set by hand.",
  "003/3.5/platform-default": "Since CUDA 10.1 the default on each platform is what is best on that platform.",
};
