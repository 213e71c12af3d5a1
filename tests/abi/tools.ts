import { TARGETS } from "../../ffi/generate/clang.ts";

/** What the ABI tests need and this machine lacks: names of tools, and of Debian packages for headers. */
export const MISSING: readonly string[] = [
  ...["cc", "clang", "clang++"].filter((tool) => !runs(tool)),
  ...exists("/usr/include/CL/cl_ext.h") ? [] : ["opencl-headers"],
  ...TARGETS
    .filter((target) => !exists(`/usr/${target}/include/bits/wordsize.h`))
    .filter((target) => !exists(`/usr/include/${target}/bits/wordsize.h`))
    .map((target) => `C headers for ${target}`),
];

/** Registers a test which is ignored, and says why in its name, where a tool is missing. */
export function abiTest(name: string, fn: () => Promise<void>): void {
  const ignore = MISSING.length > 0;
  Deno.test({ name: ignore ? `${name} (needs ${MISSING.join(", ")})` : name, ignore, fn });
}

function runs(tool: string): boolean {
  try {
    return new Deno.Command(tool, { args: ["--version"], stdout: "null", stderr: "null" }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
