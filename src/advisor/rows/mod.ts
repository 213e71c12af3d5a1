import { shown } from "../../core/argument.ts";
import { wrong } from "../check.ts";
import { MEASURED_ROWS } from "../claims.ts";
import { OTHER_ROWS } from "./others.ts";
import { type Table1Id, type Table2Id, TABLE_ROWS } from "./tables.ts";
import { TEGRA_ROWS } from "./tegra.ts";

/** The id of a row: its document, its section there, and a name; {@link ADVISOR_ROWS} has them all. */
export type AdvisorRowId = `${"002" | "003" | "best" | "programming" | "cuda" | "own"}/${string}/${string}`;

export type RowId =
  | keyof typeof TEGRA_ROWS
  | keyof typeof OTHER_ROWS
  | Table1Id
  | Table2Id
  | `own/measured/${"upload-once" | "download-once"}`;

/** One statement of a document. */
export interface AdvisorRow {
  /** `"003/3.1/pinned-small"`. */
  readonly id: AdvisorRowId;
  /** The document: `"CUDA for Tegra"`. */
  readonly document: string;
  /** The section: `"§3.1"`. */
  readonly section: string;
  /** The statement, in our own words. */
  readonly says: string;
}

const DOCUMENTS: Readonly<Record<string, string>> = {
  "002": "Custom Memory Allocators in OpenCV",
  "003": "CUDA for Tegra",
  "best": "CUDA C++ Best Practices Guide",
  "programming": "CUDA C++ Programming Guide",
  "cuda": "CUDA Runtime API",
  "own": "samepage",
};

/** The sections whose title differs from their name in the id. */
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

const ROWS: ReadonlyMap<AdvisorRowId, AdvisorRow> = new Map([
  ...Object.entries(TEGRA_ROWS),
  ...Object.entries(OTHER_ROWS),
  ...TABLE_ROWS,
  ...MEASURED_ROWS,
].map(([id, says]) => [id as RowId, rowOf(id as RowId, says)]));

/**
 * Every rule, table cell and measurement that the advisor knows. Ids that begin with `003` come from NVIDIA's "CUDA for
 * Tegra", those with `002` from the article "Custom Memory Allocators in OpenCV: Zero copy for GPUs".
 */
export const ADVISOR_ROWS: readonly AdvisorRow[] = Object.freeze([...ROWS.values()]);

function rowOf(id: RowId, says: string): AdvisorRow {
  const [source, section] = id.split("/");
  const title = SECTIONS[`${source}/${section}`] ?? (source === "003" ? `§${section}` : section);
  return Object.freeze({ id, document: DOCUMENTS[source], section: title, says });
}

/**
 * The row with an id.
 *
 * @throws {ArgumentError} for an unknown id.
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
  const row = ROWS.get(id);
  if (row === undefined) throw wrong("id", `there is no row ${shown(id)}.`, "ADVISOR_ROWS lists them all.");
  return row;
}

/** What rows say, each with its source: `… (CUDA for Tegra, §3.1).` */
export function quoted(ids: readonly AdvisorRowId[]): string {
  return ids.map((id) => {
    const { document, section, says } = advisorRow(id);
    return `${says.slice(0, -1)} (${document}, ${section}).`;
  }).join(" ");
}

/** Something to look out for. */
export interface Caution {
  /** In our own words. */
  readonly says: string;
  /** The row that says so. */
  readonly row: AdvisorRowId;
}

export function cautionOf(row: AdvisorRowId): Caution {
  return { says: advisorRow(row).says, row };
}
