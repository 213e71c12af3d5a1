import { join } from "@std/path";
import { isFile } from "./files.ts";
import type { Variables } from "./job.ts";

/** The venv with PyTorch, CuPy and JAX. */
export const PYTHON_HOME: string = Deno.env.get("SAMEPAGE_TEST_PYTHON") ?? "/opt/torch/.venv";

/** The variables by which tests and benches find it; undefined where there is none. */
export async function pythonHere(): Promise<Variables | undefined> {
  const python = join(PYTHON_HOME, "bin/python3");
  if (!await isFile(python)) return undefined;
  return {
    SAMEPAGE_TEST_PYTHON: PYTHON_HOME,
    PYTHON: python,
    XLA_PYTHON_CLIENT_PREALLOCATE: "false", // else JAX takes three quarters of the GPU's memory
  };
}
