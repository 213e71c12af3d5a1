import { advisorRow, type AdvisorRowId } from "./rows/mod.ts";

/** What to look out for. */
export interface Caution {
  /** In our own words. */
  readonly says: string;
  /** The row that says so. */
  readonly row: AdvisorRowId;
}

/** A row as something to look out for. */
export function cautionOf(row: AdvisorRowId): Caution {
  return { says: advisorRow(row).says, row };
}
