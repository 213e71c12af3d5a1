/** How a processor reaches a kind of memory; `"none"`: not directly. */
export type Reach = "cached" | "uncached" | "none" | "unsupported";

/** The cells of CUDA for Tegra's table 1. */
export type Table1Id =
  | `003/table-1/${"device" | "pageable" | "managed"}/${"cpu" | "igpu" | "dgpu"}`
  | `003/table-1/pinned/${"igpu" | "dgpu"}`
  | `003/table-1/pinned/cpu/${"coherent" | "incoherent"}`;

/** Table 1, "Characteristics of Different Memory Types in a Tegra System". Coherent: compute capability 7.2 and up. */
export const TABLE_1: Readonly<Record<Table1Id, Reach>> = {
  "003/table-1/device/cpu": "none",
  "003/table-1/device/igpu": "cached",
  "003/table-1/device/dgpu": "cached",
  "003/table-1/pageable/cpu": "cached",
  "003/table-1/pageable/igpu": "none",
  "003/table-1/pageable/dgpu": "none",
  "003/table-1/pinned/cpu/incoherent": "uncached",
  "003/table-1/pinned/cpu/coherent": "cached",
  "003/table-1/pinned/igpu": "uncached",
  "003/table-1/pinned/dgpu": "uncached",
  "003/table-1/managed/cpu": "cached",
  "003/table-1/managed/igpu": "cached",
  "003/table-1/managed/dgpu": "unsupported",
};

const WORDS: Readonly<Record<string, string>> = {
  device: "Device memory",
  pageable: "Pageable host memory",
  pinned: "Pinned host memory",
  managed: "Unified memory",
  cpu: "a Tegra's CPU",
  igpu: "a Tegra's integrated GPU",
  dgpu: "a discrete GPU beside a Tegra",
  coherent: " from compute capability 7.2",
  incoherent: " below compute capability 7.2",
};

const REACHES: Readonly<Record<Reach, string>> = {
  cached: "is cached by",
  uncached: "is not cached by",
  none: "is out of the direct reach of",
  unsupported: "is not supported on",
};

/** The flag of unified memory: used by all streams, by the CPU, or by one stream. */
export type AttachFlag = "cudaMemAttachGlobal" | "cudaMemAttachHost" | "cudaMemAttachSingle";

/** The cells of CUDA for Tegra's table 2: previous flag, current flag. */
export type Table2Id =
  | `003/table-2/${"global" | "single"}-host`
  | `003/table-2/${"host" | "single"}-global`
  | `003/table-2/${"host" | "global"}-single`;

/** Table 2, "Unified Memory Prefetching Behavior per Changing Attachment Flag States": whose caches a change fills. */
export const TABLE_2: Readonly<Record<Table2Id, "cpu" | "gpu" | "none">> = {
  "003/table-2/global-host": "cpu",
  "003/table-2/single-host": "cpu",
  "003/table-2/host-global": "gpu",
  "003/table-2/host-single": "gpu",
  "003/table-2/global-single": "none",
  "003/table-2/single-global": "none",
};

const FLAGS: Readonly<Record<string, AttachFlag>> = {
  global: "cudaMemAttachGlobal",
  host: "cudaMemAttachHost",
  single: "cudaMemAttachSingle",
};

const EFFECTS = {
  cpu: "prefetches the bytes to the CPU",
  gpu: "prefetches the bytes to the GPU",
  none: "prefetches nothing to the GPU",
} as const;

export const TABLE_ROWS: ReadonlyMap<Table1Id | Table2Id, string> = new Map<Table1Id | Table2Id, string>([
  ...Object.entries(TABLE_1).map(([id, reach]) => {
    const [, , memory, processor, coherency] = id.split("/");
    const says = `${WORDS[memory]} ${REACHES[reach]} ${WORDS[processor]}${WORDS[coherency] ?? ""}.`;
    return [id as Table1Id, says] as const;
  }),
  ...Object.entries(TABLE_2).map(([id, prefetch]) => {
    const [previous, current] = id.split("/")[2].split("-");
    return [id as Table2Id, `A change from ${FLAGS[previous]} to ${FLAGS[current]} ${EFFECTS[prefetch]}.`] as const;
  }),
]);
