/** pyarrow in this process. */
import { LibraryNotFoundError } from "../../mod.ts";
import { Python } from "../../src/python/mod.ts";
import { ARROW, hasWheels } from "../../tasks/setup/wheels.ts";

const LIBRARY = "libpython3.11.so.1.0"; // the wheel is for this one

function open(): Python | undefined {
  try {
    return Python.open({ library: LIBRARY });
  } catch (error) {
    if (error instanceof LibraryNotFoundError) return undefined;
    throw error;
  }
}

/** Without NumPy: this machine's may be too old for the wheel. */
const BEGIN = `import sys
sys.path = [${JSON.stringify(ARROW.folder)}] + [path for path in sys.path if "-packages" not in path]
import pyarrow as pa`;

/** What is missing, for the names of tests. */
const missing: string | undefined = await hasWheels(ARROW) ? undefined : ARROW.folder;
const python = missing === undefined ? open() : undefined;
if (python !== undefined) run(BEGIN);

/** Runs statements. @throws {PythonError} for an exception. */
export function run(code: string): void {
  python!.run(`${code}\nNone`); // no value, which would have to be disposed
}

/** Registers a test with pyarrow in this process. */
export function pyarrowTest(name: string, fn: () => void | Promise<void>): void {
  const needs = missing ?? (python === undefined ? LIBRARY : undefined);
  Deno.test({
    name: needs === undefined ? name : `${name} (skipped: needs ${needs})`,
    ignore: needs !== undefined,
    fn,
  });
}
