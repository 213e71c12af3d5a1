/**
 * Runs a program in a process of its own, because it might crash or hang.
 *
 * @module
 */
import { assertEquals } from "@std/assert";

/** How a process ended. */
export interface Ended {
  /** Its exit code; -1 where it had to be killed. */
  readonly code: number;
  /** What it printed. */
  readonly stdout: string;
  /** What it warned of. */
  readonly stderr: string;
}

/** How to run it. */
export interface RunOptions {
  /** Variables beside this process's own. */
  readonly env?: Readonly<Record<string, string>>;
  /** Seconds after which it is killed. */
  readonly limit?: number;
  /** Flags of `deno run` in place of `-A`. */
  readonly flags?: readonly string[];
}

const CONFIG = new URL("../../deno.json", import.meta.url).pathname;
const PROGRAMS = new URL("../../out/opencl/", import.meta.url).pathname; // git ignores it
const IMPORTS = `
import { host, ledger, MapperGraph } from "@samepage/interop";
import * as help from "${new URL("./help.ts", import.meta.url)}";
`;

/** Runs a module's text; `host`, `ledger`, `MapperGraph` and `help` (the helper file) are imported already. */
export async function runText(body: string, options: RunOptions = {}): Promise<Ended> {
  return await runModule(IMPORTS + body, options);
}

/** Runs a module's text as it is. */
export async function runModule(text: string, options: RunOptions = {}): Promise<Ended> {
  await Deno.mkdir(PROGRAMS, { recursive: true });
  const path = await Deno.makeTempFile({ dir: PROGRAMS, suffix: ".ts" });
  try {
    await Deno.writeTextFile(path, text);
    const args = ["run", "--no-check", "-q", "--config", CONFIG, "--v8-flags=--expose-gc"];
    const child = new Deno.Command(Deno.execPath(), {
      args: [...args, ...options.flags ?? ["-A"], path],
      env: { ...options.env },
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    let late = false;
    const killer = setTimeout(() => {
      late = true;
      child.kill("SIGKILL");
    }, 1000 * (options.limit ?? 20));
    const { code, stdout, stderr } = await child.output();
    clearTimeout(killer);
    const text8 = new TextDecoder();
    return { code: late ? -1 : code, stdout: text8.decode(stdout), stderr: text8.decode(stderr) };
  } finally {
    await Deno.remove(path);
  }
}

/** Runs a module's text, which has to end well; answers its lines. */
export async function linesOf(body: string, options: RunOptions = {}): Promise<string[]> {
  const { code, stdout, stderr } = await runText(body, options);
  assertEquals(code, 0, `exit code ${code} (-1: killed after the limit)\n${stdout}\n${stderr}`);
  return stdout.trim().split("\n");
}
