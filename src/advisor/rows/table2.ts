/** Who uses a piece of unified memory: all streams, the CPU, or one stream. */
export type AttachFlag = "cudaMemAttachGlobal" | "cudaMemAttachHost" | "cudaMemAttachSingle";

/** The cells of CUDA for Tegra's table 2: previous flag, current flag. */
export type Table2Id = `003/table-2/${
  | "global-host"
  | "single-host"
  | "host-global"
  | "host-single"
  | "global-single"
  | "single-global"}`;

/** One cell. */
export interface Table2Cell {
  /** The flag until now. */
  readonly previous: AttachFlag;
  /** The flag from now on. */
  readonly current: AttachFlag;
  /** Whose caches the change fills. */
  readonly prefetch: "cpu" | "gpu" | "none";
}

const GLOBAL = "cudaMemAttachGlobal";
const HOST = "cudaMemAttachHost";
const SINGLE = "cudaMemAttachSingle";

/** Table 2, "Unified Memory Prefetching Behavior per Changing Attachment Flag States". */
export const TABLE_2: Readonly<Record<Table2Id, Table2Cell>> = {
  "003/table-2/global-host": { previous: GLOBAL, current: HOST, prefetch: "cpu" },
  "003/table-2/single-host": { previous: SINGLE, current: HOST, prefetch: "cpu" },
  "003/table-2/host-global": { previous: HOST, current: GLOBAL, prefetch: "gpu" },
  "003/table-2/host-single": { previous: HOST, current: SINGLE, prefetch: "gpu" },
  "003/table-2/global-single": { previous: GLOBAL, current: SINGLE, prefetch: "none" },
  "003/table-2/single-global": { previous: SINGLE, current: GLOBAL, prefetch: "none" },
};

const EFFECTS: Readonly<Record<Table2Cell["prefetch"], string>> = {
  cpu: "prefetches the bytes to the CPU",
  gpu: "prefetches the bytes to the GPU",
  none: "prefetches nothing to the GPU",
};

/** A cell in words. */
export function saidOfChange(id: Table2Id): string {
  const { previous, current, prefetch } = TABLE_2[id];
  return `A change from ${previous} to ${current} ${EFFECTS[prefetch]}.`;
}
