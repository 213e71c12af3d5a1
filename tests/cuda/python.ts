import { missing } from "./help.ts";

/**
 * What a test lacks that needs a Python with one of these modules; undefined where it is there. Where CUDA has no device,
 * Python is not started: importing takes seconds.
 */
export function pythonLacks(...modules: readonly string[]): string | undefined {
  if (missing !== undefined) return undefined;
  return modules.some(imports) ? undefined : `needs python3 with ${modules.join(" or ")}`;
}

function imports(module: string): boolean {
  const args = ["-c", `import ${module}`];
  try {
    return new Deno.Command("python3", { args, stdout: "null", stderr: "null" }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
