/** What no document says: rules that follow from theirs, and what was measured. */
export type OwnRowId =
  | `own/rule/${
    | "small"
    | "gpu-repeats"
    | "integrated-elsewhere"
    | "cpu-alone"
    | "safety-elsewhere"
    | "copied"
    | "copied-once"
    | "attach-unchanged"}`
  | `own/measured/${"register" | "write-combined"}`;

/** In our own words. */
export const OWN_ROWS: Readonly<Record<OwnRowId, string>> = {
  "own/rule/small":
    "CUDA for Tegra does not say up to where a buffer is small: samepage says 128 KiB, unless smallUpTo says " +
    "otherwise.",
  "own/rule/gpu-repeats":
    "CUDA for Tegra speaks of repeated use by the GPU where the CPU too uses the buffer often; its reason, that the " +
    "GPU's cache outweighs the cache maintenance, holds where only the GPU comes back.",
  "own/rule/integrated-elsewhere":
    "This integrated GPU is in no Tegra, and what CUDA for Tegra says of a Tegra's is only taken to hold for it.",
  "own/rule/cpu-alone": "The CPU alone uses the buffer, and does not reach device memory.",
  "own/rule/safety-elsewhere":
    "CUDA for Tegra says of Tegras what safety asks of unified memory. Elsewhere it is taken to hold too: the driver " +
    "moves the bytes when they are touched, and how long that takes is not known before.",
  "own/rule/copied":
    "The CPU does not reach device memory: the bytes are copied there ahead of the kernels, and back behind them.",
  "own/rule/copied-once": "The buffer exists already: its bytes are copied to the new memory once.",
  "own/rule/attach-unchanged": "A flag that stays the same prefetches nothing.",
  "own/measured/register":
    "Registering 33 MB and unregistering it took 1 to 2 ms on an H200, longer than copying it once from pinned " +
    "memory: keep registered what comes again.",
  "own/measured/write-combined": "Write-combined memory gained nothing on an H200: measure it.",
};
