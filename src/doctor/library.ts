import { type LibraryAttempt, LibraryNotFoundError } from "../core/errors.ts";
import { environment, openingOf } from "../core/library.ts";
import { loadedFrom } from "../host/loaded.ts";
import { attempt } from "./findings.ts";
import { packageOf } from "./packages.ts";
import type { Fact, Finding, LibraryReport } from "./report.ts";

/** A library to look at. */
export interface ExaminedLibrary {
  /** The API whose it is. */
  readonly api: string;
  /** Its opener. */
  readonly open: () => unknown;
  /** A function that it has: where that lies, the library does. */
  readonly symbol: string;
  /** What it tells of itself, asked once it is open. */
  readonly facts: () => readonly Fact[];
  /** What it calls its version, from those facts. */
  readonly version: (facts: readonly Fact[]) => string | undefined;
}

/** What came of opening a library; true where it is open. */
export function examineLibrary(library: ExaminedLibrary, findings: Finding[]): [LibraryReport, boolean] {
  const { api } = library;
  let attempts: readonly LibraryAttempt[] = [];
  try {
    library.open();
  } catch (error) {
    if (error instanceof LibraryNotFoundError) attempts = error.attempts;
    attempt(() => {
      throw error;
    }, (finding) => findings.push(finding));
  }
  const opening = openingOf(api);
  const variable = opening?.variable ?? `SAMEPAGE_LIB_${api.toUpperCase()}`;
  return [{ variable, attempts, facts: [] }, opening?.path !== undefined];
}
