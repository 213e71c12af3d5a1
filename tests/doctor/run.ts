/**
 * Runs the doctor as people do: in a process of its own.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { Report } from "@samepage/interop/doctor";
import { exec, type Output } from "../package/project.ts";

/** The doctor's own program. */
export const MAIN: string = new URL("../../src/doctor/mod.ts", import.meta.url).pathname;
/** The configuration that it needs. */
export const CONFIG: string = new URL("../../deno.json", import.meta.url).pathname;

/** How to run it. */
export interface RunOptions {
  /** What Deno permits; `--allow-ffi` alone by default. */
  readonly flags?: readonly string[];
  /** Variables beside this process's own. */
  readonly env?: Record<string, string>;
}

/** Runs it with these arguments, and rusticl switched on. */
export async function runDoctor(args: readonly string[], options: RunOptions = {}): Promise<Output> {
  const { flags = ["--allow-ffi"], env = {} } = options;
  const run = ["run", "--no-prompt", "--no-check", "-q", "--config", CONFIG, ...flags, MAIN, ...args];
  return await exec(Deno.execPath(), run, { env: { RUSTICL_ENABLE: "llvmpipe", ...env } });
}

/** What it prints; it has to end well and to warn of nothing. */
export async function printed(args: readonly string[], options?: RunOptions): Promise<string> {
  const { code, stdout, stderr } = await runDoctor(args, options);
  assertEquals([code, stderr], [0, ""]);
  return stdout;
}

/** Its report, by way of JSON. */
export async function reported(args: readonly string[] = [], options?: RunOptions): Promise<Report> {
  return JSON.parse(await printed(["--json", ...args], options));
}
