/** What CUDA for Tegra says in §3.4 (GPU selection). */
export type GpuRowId = `003/3.4/${"kernel-time" | "transfer-time" | "locality" | "latency" | "no-transfer"}`;

/** In our own words. */
export const GPU_ROWS: Readonly<Record<GpuRowId, string>> = {
  "003/3.4/kernel-time": "Which GPU is the better one depends on how long the kernels take on each.",
  "003/3.4/transfer-time":
    "Work on a discrete GPU beside a Tegra has to wait until its data was transferred between the SoC and that GPU.",
  "003/3.4/locality": "Which GPU is the better one depends on where the data lies.",
  "003/3.4/latency": "Which GPU is the better one depends on the latency of each.",
  "003/3.4/no-transfer": "On the integrated GPU the transfer between the SoC and a discrete GPU is avoided.",
};
