/** How a processor reaches a kind of memory; `"none"`: not directly. */
export type Reach = "cached" | "uncached" | "none" | "unsupported";

/** The cells of CUDA for Tegra's table 1. */
export type Table1Id =
  | `003/table-1/${"device" | "pageable" | "managed"}/${"cpu" | "igpu" | "dgpu"}`
  | `003/table-1/pinned/${"igpu" | "dgpu"}`
  | `003/table-1/pinned/cpu/${"coherent" | "incoherent"}`;

/** Table 1, "Characteristics of Different Memory Types in a Tegra System". Coherent: compute capability 7.2 and up. */
export const TABLE_1: Readonly<Record<Table1Id, { reach: Reach; says: string }>> = {
  "003/table-1/device/cpu": { reach: "none", says: "Device memory is out of the direct reach of a Tegra's CPU." },
  "003/table-1/device/igpu": { reach: "cached", says: "Device memory is cached by a Tegra's integrated GPU." },
  "003/table-1/device/dgpu": { reach: "cached", says: "Device memory is cached by a discrete GPU beside a Tegra." },
  "003/table-1/pageable/cpu": { reach: "cached", says: "Pageable host memory is cached by a Tegra's CPU." },
  "003/table-1/pageable/igpu": {
    reach: "none",
    says: "Pageable host memory is out of the direct reach of a Tegra's integrated GPU.",
  },
  "003/table-1/pageable/dgpu": {
    reach: "none",
    says: "Pageable host memory is out of the direct reach of a discrete GPU beside a Tegra.",
  },
  "003/table-1/pinned/cpu/incoherent": {
    reach: "uncached",
    says: "Pinned host memory is not cached by a Tegra's CPU below compute capability 7.2.",
  },
  "003/table-1/pinned/cpu/coherent": {
    reach: "cached",
    says: "Pinned host memory is cached by a Tegra's CPU from compute capability 7.2.",
  },
  "003/table-1/pinned/igpu": {
    reach: "uncached",
    says: "Pinned host memory is not cached by a Tegra's integrated GPU.",
  },
  "003/table-1/pinned/dgpu": {
    reach: "uncached",
    says: "Pinned host memory is not cached by a discrete GPU beside a Tegra.",
  },
  "003/table-1/managed/cpu": { reach: "cached", says: "Unified memory is cached by a Tegra's CPU." },
  "003/table-1/managed/igpu": { reach: "cached", says: "Unified memory is cached by a Tegra's integrated GPU." },
  "003/table-1/managed/dgpu": {
    reach: "unsupported",
    says: "Unified memory is not supported on a discrete GPU beside a Tegra.",
  },
};

/** The flag of unified memory: used by all streams, by the CPU, or by one stream. */
export type AttachFlag = "cudaMemAttachGlobal" | "cudaMemAttachHost" | "cudaMemAttachSingle";

/** The cells of CUDA for Tegra's table 2: previous flag, current flag. */
export type Table2Id = `003/table-2/${
  | "global-host"
  | "single-host"
  | "host-global"
  | "host-single"
  | "global-single"
  | "single-global"}`;

/** One cell: the flag before and after the change, and the processor whose caches the change fills. */
interface Table2Cell {
  readonly previous: AttachFlag;
  readonly current: AttachFlag;
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

/** Every cell of both tables in a sentence. */
export const TABLE_ROWS: ReadonlyMap<Table1Id | Table2Id, string> = new Map<Table1Id | Table2Id, string>([
  ...(Object.keys(TABLE_1) as Table1Id[]).map((id) => [id, TABLE_1[id].says] as const),
  ...(Object.keys(TABLE_2) as Table2Id[]).map((id) => {
    const { previous, current, prefetch } = TABLE_2[id];
    return [id, `A change from ${previous} to ${current} ${EFFECTS[prefetch]}.`] as const;
  }),
]);
