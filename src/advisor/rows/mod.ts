import { shown } from "../../core/argument.ts";
import { wrong } from "../check.ts";
import { GPU_ROWS, type GpuRowId } from "./gpu.ts";
import { MANAGED_ROWS, type ManagedRowId } from "./managed.ts";
import { MEASURED_ROWS, type MeasuredRowId } from "./measured.ts";
import { MEMORY_ROWS, type MemoryRowId } from "./memory.ts";
import { NVIDIA_ROWS, type NvidiaRowId } from "./nvidia.ts";
import { OWN_ROWS, type OwnRowId } from "./own.ts";
import { PINNED_ROWS, type PinnedRowId } from "./pinned.ts";
import { SYNC_ROWS, type SyncRowId } from "./sync.ts";
import { saidOfCell, type Table1Id, TABLE_1 } from "./table1.ts";
import { saidOfChange, type Table2Id, TABLE_2 } from "./table2.ts";
import { UNSUPPORTED, type UnsupportedRowId } from "./unsupported.ts";
import { ZERO_COPY_ROWS, type ZeroCopyRowId } from "./zero_copy.ts";

/** Names a row: its document, its section there, and what it is about. */
export type AdvisorRowId =
  | GpuRowId
  | ManagedRowId
  | MeasuredRowId
  | MemoryRowId
  | NvidiaRowId
  | OwnRowId
  | PinnedRowId
  | SyncRowId
  | Table1Id
  | Table2Id
  | UnsupportedRowId
  | ZeroCopyRowId;

/** One statement of a document. */
export interface AdvisorRow {
  /** `"003/3.1/pinned-small"`. */
  readonly id: AdvisorRowId;
  /** The document that says it: `"CUDA for Tegra"`. */
  readonly document: string;
  /** Where in it: `"§3.1"`. */
  readonly section: string;
  /** What it says, in our own words. */
  readonly says: string;
}

/** The documents, by the first part of a row's id. */
const DOCUMENTS: Readonly<Record<string, string>> = {
  "002": "Custom Memory Allocators in OpenCV",
  "003": "CUDA for Tegra",
  "best": "CUDA C++ Best Practices Guide",
  "programming": "CUDA C++ Programming Guide",
  "cuda": "CUDA Runtime API",
  "own": "samepage",
};

/** The sections whose title is not their name in the id. */
const SECTIONS: Readonly<Record<string, string>> = {
  "002/zero-copy": "CUDA zero-copy primitives",
  "002/example": "An example program",
  "003/table-1": "table 1",
  "003/table-2": "table 2",
  "best/zero-copy": "Zero Copy",
  "programming/coherency": "Coherency and Concurrency",
  "own/rule": "a rule of its own",
  "own/measured": "measured",
};

const SAID: Readonly<Record<AdvisorRowId, string>> = {
  ...GPU_ROWS,
  ...MANAGED_ROWS,
  ...MEASURED_ROWS,
  ...MEMORY_ROWS,
  ...NVIDIA_ROWS,
  ...OWN_ROWS,
  ...PINNED_ROWS,
  ...SYNC_ROWS,
  ...ZERO_COPY_ROWS,
  ...each(TABLE_1, saidOfCell),
  ...each(TABLE_2, saidOfChange),
  ...each(UNSUPPORTED, (id) => UNSUPPORTED[id].says),
};

/**
 * Every rule, table cell and measurement that the advisor knows. Ids that begin with `003` are of NVIDIA's "CUDA for
 * Tegra", those with `002` of the article "Custom Memory Allocators in OpenCV: Zero copy for GPUs".
 */
export const ADVISOR_ROWS: readonly AdvisorRow[] = Object.freeze(
  (Object.keys(SAID) as AdvisorRowId[]).map((id) => {
    const [source, section] = id.split("/");
    const title = SECTIONS[`${source}/${section}`] ?? (source === "003" ? `§${section}` : section);
    return Object.freeze({ id, document: DOCUMENTS[source], section: title, says: SAID[id] });
  }),
);

const BY_ID: ReadonlyMap<AdvisorRowId, AdvisorRow> = new Map(ADVISOR_ROWS.map((row) => [row.id, row]));

/**
 * The row of an id.
 *
 * @throws {ArgumentError} where there is none.
 *
 * @example
 * ```ts
 * import { advisorRow } from "@samepage/interop/advisor";
 *
 * const { section, says } = advisorRow("003/table-1/pinned/igpu");
 * console.log(section, says); // table 1 Pinned host memory is not cached by a Tegra's integrated GPU.
 * ```
 */
export function advisorRow(id: AdvisorRowId): AdvisorRow {
  const row = BY_ID.get(id);
  if (row === undefined) throw wrong("id", `${shown(id)} is no row.`, "ADVISOR_ROWS has them all.");
  return row;
}

/** What rows say, each with where it says it: `… (CUDA for Tegra, §3.1).` */
export function quoted(ids: readonly AdvisorRowId[]): string {
  return ids.map((id) => {
    const { document, section, says } = advisorRow(id);
    return `${says.slice(0, -1)} (${document}, ${section}).`;
  }).join(" ");
}

function each<Id extends string>(table: Readonly<Record<Id, unknown>>, said: (id: Id) => string): Record<Id, string> {
  return Object.fromEntries((Object.keys(table) as Id[]).map((id) => [id, said(id)])) as Record<Id, string>;
}
