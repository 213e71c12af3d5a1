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

/** A file and its package, if they can be found. */
export function located(file: () => string | undefined): { readonly file?: string; readonly package?: string } {
  let path: string | undefined;
  try {
    path = file();
  } catch {
    return {}; // libc is missing, which is a separate finding
  }
  if (path === undefined) return {};
  const owner = packageOf(path);
  return { file: path, ...(owner === undefined ? {} : { package: owner }) };
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

const DPKG = "dpkg-query";

/** The package of a file, `"pocl-opencl-icd 3.1-3"`, if dpkg is here and may be run. */
function packageOf(file: string): string | undefined {
  if (Deno.permissions.querySync({ name: "run", command: DPKG }).state !== "granted") return undefined;
  // The loader's /lib/… is /usr/lib/… in dpkg.
  const owner = ask("-S", file) ?? ask("-S", `/usr${file}`);
  const name = owner?.split(": ")[0];
  return name === undefined ? undefined : ask("-W", "-f", "${Package} ${Version}\n", name)?.split("\n")[0];
}

function ask(...args: string[]): string | undefined {
  try {
    const { success, stdout } = new Deno.Command(DPKG, { args, stdin: "null", stderr: "null" }).outputSync();
    return success ? new TextDecoder().decode(stdout).trim() : undefined;
  } catch {
    return undefined; // no Debian, or not permitted after all
  }
}
