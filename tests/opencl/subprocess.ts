/**
 * Runs a program that uses OpenCL in a process of its own, because it might crash or hang.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type Ended, type ModuleOptions, runModule } from "../process.ts";

const IMPORTS = `
import { host, ledger, MapperGraph } from "@samepage/interop";
import * as help from "${new URL("./help.ts", import.meta.url)}";
`;

/** Runs a module's text; `host`, `ledger`, `MapperGraph` and `help` (the helper file) are imported already. */
export async function runText(body: string, options: ModuleOptions = {}): Promise<Ended> {
  return await runModule(IMPORTS + body, options);
}

/** Runs a module's text, which has to end well; returns its lines. */
export async function linesOf(body: string, options: ModuleOptions = {}): Promise<string[]> {
  const { code, late, stdout, stderr } = await runText(body, options);
  assertEquals(
    [code, late],
    [0, false],
    `exit code ${code}${late ? ", killed after the limit" : ""}\n${stdout}\n${stderr}`,
  );
  return stdout.trim().split("\n");
}
