import { LibraryNotFoundError } from "../../mod.ts";
import { Python, type PythonObject } from "../../src/python/mod.ts";

/** Where `deno task setup test` unpacks NumPy, for the Python of this machine. */
export const PACKAGES = new URL("../../.python/packages", import.meta.url).pathname;

/** Why there is no Python here with the libraries of that name. */
export function lacking(...modules: readonly string[]): string | undefined {
  try {
    const python = Python.open(home === undefined ? { path: [PACKAGES] } : { home });
    const missing = python.run<string[]>(
      "import importlib.util\n[name for name in names if importlib.util.find_spec(name) is None]",
      { names: modules },
    );
    return missing.length === 0 ? undefined : missing.join(" and ");
  } catch (error) {
    if (error instanceof LibraryNotFoundError) return "libpython";
    throw error;
  }
}

/** A venv with more libraries than the tests' own, by hand: SAMEPAGE_TEST_PYTHON. */
const home = Deno.env.get("SAMEPAGE_TEST_PYTHON");

/** What an expression of Python's makes. */
export function made(code: string): PythonObject {
  return Python.open().run<PythonObject>(code);
}

/** A test that needs these libraries of Python's. */
export function test(name: string, modules: readonly string[], fn: () => unknown): void {
  const missing = lacking(...modules);
  Deno.test({
    name: `${name}${missing === undefined ? "" : ` (not here: ${missing})`}`,
    ignore: missing !== undefined,
    fn: async () => void await fn(),
  });
}
