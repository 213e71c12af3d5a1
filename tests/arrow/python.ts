/** CPython in this process, as far as pyarrow's tests need it. */
import { ARROW, hasWheels } from "../../tasks/setup/wheels.ts";

const LIBRARY = "libpython3.11.so.1.0"; // the wheel is for this one

/** Python loads its extensions against symbols of a library that is open for all. */
const RTLD_NOW_GLOBAL = 0x102;

function open() {
  const libc = Deno.dlopen("libc.so.6", { dlopen: { parameters: ["buffer", "i32"], result: "pointer" } });
  const name = new TextEncoder().encode(`${LIBRARY}\0`);
  if (libc.symbols.dlopen(name, RTLD_NOW_GLOBAL) === null) return undefined;
  const { symbols } = Deno.dlopen(LIBRARY, {
    Py_InitializeEx: { parameters: ["i32"], result: "void" },
    PyRun_SimpleString: { parameters: ["buffer"], result: "i32" },
  });
  symbols.Py_InitializeEx(0);
  return symbols;
}

/** Without NumPy: this machine's may be too old for the wheel. */
const BEGIN = `import sys
sys.path = [${JSON.stringify(ARROW.folder)}] + [path for path in sys.path if "-packages" not in path]
import pyarrow as pa`;

/** What is missing, for the names of tests. */
export const missing: string | undefined = await hasWheels(ARROW) ? undefined : ARROW.folder;
const python = missing === undefined ? open() : undefined;
if (python !== undefined) run(BEGIN);

/** Runs a text, which prints its exceptions itself. @throws {Error} if there was one. */
export function run(code: string): void {
  if (python!.PyRun_SimpleString(new TextEncoder().encode(`${code}\n\0`)) !== 0) throw new Error("Python has failed");
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
