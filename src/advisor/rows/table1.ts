/** Kinds of memory, as the table has them; registered memory is pinned host memory to it. */
export type Table1Memory = "device" | "pageable" | "pinned" | "managed";

/** Who reaches for it: the Tegra's CPU, its integrated GPU, or a discrete GPU beside it. */
export type Table1Processor = "cpu" | "igpu" | "dgpu";

/** How a processor reaches a kind of memory; `"none"` is not directly. */
export type Reach = "cached" | "uncached" | "none" | "unsupported";

/** The cells of CUDA for Tegra's table 1. */
export type Table1Id =
  | `003/table-1/${"device" | "pageable" | "managed"}/${Table1Processor}`
  | `003/table-1/pinned/${"igpu" | "dgpu"}`
  | `003/table-1/pinned/cpu/${"coherent" | "incoherent"}`;

/**
 * Table 1, "Characteristics of Different Memory Types in a Tegra System"; coherent is compute capability 7.2 and up.
 */
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

const MEMORIES: Readonly<Record<Table1Memory, string>> = {
  device: "Device memory",
  pageable: "Pageable host memory",
  pinned: "Pinned host memory",
  managed: "Unified memory",
};

const PROCESSORS: Readonly<Record<Table1Processor, string>> = {
  cpu: "a Tegra's CPU",
  igpu: "a Tegra's integrated GPU",
  dgpu: "a discrete GPU beside a Tegra",
};

const REACHES: Readonly<Record<Reach, (processor: string) => string>> = {
  cached: (processor) => `is cached by ${processor}`,
  uncached: (processor) => `is not cached by ${processor}`,
  none: (processor) => `is out of the direct reach of ${processor}`,
  unsupported: (processor) => `is not supported on ${processor}`,
};

/** A cell in words. */
export function saidOfCell(id: Table1Id): string {
  const [memory, processor, coherent] = id.split("/").slice(2) as [Table1Memory, Table1Processor, string?];
  const from = coherent === undefined ? "" : ` ${coherent === "coherent" ? "from" : "below"} compute capability 7.2`;
  return `${MEMORIES[memory]} ${REACHES[TABLE_1[id]](PROCESSORS[processor])}${from}.`;
}
