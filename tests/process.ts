/**
 * Runs Deno in a process of its own, for what might crash, hang or exit.
 *
 * @module
 */

/** How a process ended, and what it said. */
export interface Ended {
  /** Its exit code. */
  readonly code: number;
  /** The signal that ended it, if one did. */
  readonly signal: Deno.Signal | null;
  /** True where it had to be killed after the limit. */
  readonly late: boolean;
  /** What it printed. */
  readonly stdout: string;
  /** What it warned of. */
  readonly stderr: string;
}

/** Seconds after which a process counts as hung: many times what any takes, also on a busy machine. */
export const LIMIT = 240;

/** How to run it. */
export interface DenoOptions {
  /** Variables beside this process's own. */
  readonly env?: Readonly<Record<string, string>>;
  /** Seconds after which it is killed; {@linkcode LIMIT} by default. */
  readonly limit?: number;
  /** A terminal of so many columns for it, as the `script` program opens one: `stdout` is all that it gets. */
  readonly columns?: number;
}

/** Runs `deno` with these arguments. */
export async function deno(args: readonly string[], options: DenoOptions = {}): Promise<Ended> {
  const { env = {}, limit = LIMIT, columns } = options;
  const own = [Deno.execPath(), ...args];
  const [program, ...rest] = columns === undefined ? own : inTerminal(own, columns);
  const child = new Deno.Command(program, {
    args: rest,
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let late = false;
  const killer = setTimeout(() => {
    late = true;
    child.kill("SIGKILL");
  }, 1000 * limit);
  const { code, signal, stdout, stderr } = await child.output();
  clearTimeout(killer);
  const text = new TextDecoder();
  return { code, signal, late, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}

function inTerminal(command: readonly string[], columns: number): readonly string[] {
  const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  return ["script", "-qec", `stty cols ${columns}; exec ${quoted}`, "/dev/null"];
}

const ROOT = new URL("../", import.meta.url).pathname;

/** How to run a module. */
export interface ModuleOptions extends DenoOptions {
  /** Flags of `deno run` in place of `-A`. */
  readonly flags?: readonly string[];
}

/** Runs a module's text. It imports what the tests import, and by `"./src/"`, `"./ffi/"` and `"./tests/"` any file of those. */
export async function runModule(text: string, options: ModuleOptions = {}): Promise<Ended> {
  const folder = `${ROOT}out/programs`; // git ignores it
  await Deno.mkdir(folder, { recursive: true });
  const path = await Deno.makeTempFile({ dir: folder, suffix: ".ts" });
  try {
    await Deno.writeTextFile(path, text.replaceAll(/"\.\/(src|ffi|tests)\//g, `"file://${ROOT}$1/`));
    const args = ["run", "--no-check", "-q", "--no-prompt", "--config", `${ROOT}deno.json`, "--v8-flags=--expose-gc"];
    return await deno([...args, ...options.flags ?? ["-A"], path], options);
  } finally {
    await Deno.remove(path);
  }
}
