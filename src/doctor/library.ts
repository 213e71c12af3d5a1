import { type LibraryAttempt, LibraryNotFoundError, messageOf } from "../core/errors.ts";
import { openingOf } from "../core/native/library.ts";
import { fileOf } from "../host/loaded.ts";
import { type Fact, type Finding, findingOf, type LibraryReport } from "./report.ts";

/**
 * Opens a library, unless it is open, and says where it was found; where it was not, that is a finding.
 *
 * @param symbol a function that it has: where that lies, the library does
 */
export function examineLibrary(
  api: string,
  open: () => unknown,
  symbol: string,
  findings: Finding[],
): LibraryReport {
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

/** Where a file lies, and whose it is, as far as that can be found out. */
export function located(file: () => string | undefined): { readonly file?: string; readonly package?: string } {
  let path: string | undefined;
  try {
    path = file();
  } catch {
    return {}; // libc, which is asked for it, is missing: a finding of its own
  }
  if (path === undefined) return {};
  const owner = packageOf(path);
  return { file: path, ...(owner === undefined ? {} : { package: owner }) };
}

/** Asks for one value; a failure is kept in its place. Undefined where there is no such thing. */
export function factOf(name: string, ask: () => Fact["value"]): readonly Fact[] {
  try {
    const value = ask();
    return value === undefined ? [] : [{ name, value }];
  } catch (error) {
    return [{ name, problem: messageOf(error) }];
  }
}

/** The value of a fact that is a text, where it could be read. */
export function told(facts: readonly Fact[], name: string): string | undefined {
  const value = facts.find((fact) => fact.name === name)?.value;
  return typeof value === "string" ? value : undefined;
}

/** The program that knows the package of a file. */
const DPKG = "dpkg-query";

/** The package of a file, `"pocl-opencl-icd 3.1-3"`, if dpkg is here and may be run. */
function packageOf(file: string): string | undefined {
  if (Deno.permissions.querySync({ name: "run", command: DPKG }).state !== "granted") return undefined;
  // The loader may have found /lib/…, which is /usr/lib/… to dpkg.
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
