import { type LibraryAttempt, LibraryNotFoundError, messageOf } from "../core/errors.ts";
import { openingOf } from "../core/native/library.ts";
import { fileOf } from "../core/native/loaded.ts";
import { type Fact, type Finding, findingOf, type LibraryReport } from "./report.ts";

/** Opens a library, and reports its file, found by the address of `symbol`. A missing library is a finding. */
export function examineLibrary(api: string, open: () => unknown, symbol: string, findings: Finding[]): LibraryReport {
  let attempts: readonly LibraryAttempt[] = [];
  try {
    open();
  } catch (error) {
    if (error instanceof LibraryNotFoundError) attempts = error.attempts;
    findings.push(findingOf(error));
  }
  const opening = openingOf(api);
  const { variable = `SAMEPAGE_LIB_${api.toUpperCase()}`, override, path } = opening ?? {};
  return {
    variable,
    ...(override === undefined ? {} : { override }),
    ...(path === undefined ? {} : { opened: path, ...located(() => fileOf(path, symbol)) }),
    attempts: opening?.attempts ?? attempts,
    facts: [],
  };
}

/** A file, if it can be found. */
export function located(file: () => string | undefined): { readonly file?: string } {
  try {
    const path = file();
    return path === undefined ? {} : { file: path };
  } catch {
    return {}; // libc is missing, which is a separate finding
  }
}

/** Queries one value. A failure becomes the fact's problem; an undefined value makes no fact. */
export function factOf(name: string, ask: () => Fact["value"]): readonly Fact[] {
  try {
    const value = ask();
    return value === undefined ? [] : [{ name, value }];
  } catch (error) {
    return [{ name, problem: messageOf(error) }];
  }
}

export function factValue(facts: readonly Fact[], name: string): string | undefined {
  const value = facts.find((fact) => fact.name === name)?.value;
  return typeof value === "string" ? value : undefined;
}
