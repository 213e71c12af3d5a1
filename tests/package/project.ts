import { fromFileUrl, join, relative } from "@std/path";
import config from "../../deno.json" with { type: "json" };

/** The checkout's folder, without a slash at its end. */
export const ROOT = join(fromFileUrl(import.meta.url), "../../..");

export { config };

/** What a command wrote, and how it ended. */
export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program with its output captured, without colours and without standard input. */
export async function exec(
  command: string,
  args: string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Output> {
  const { cwd = ROOT, env = {} } = options;
  const { code, stdout, stderr } = await new Deno.Command(command, {
    args,
    cwd,
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

/** Runs this Deno; a bad end is an error with everything that it wrote. */
export async function deno(args: string[], options?: Parameters<typeof exec>[2]): Promise<Output> {
  const output = await exec(Deno.execPath(), args, options);
  if (output.code === 0) return output;
  throw new Error(`deno ${args.join(" ")}: exit code ${output.code}\n${output.stdout}${output.stderr}`);
}

/** A temporary folder that is removed at the end of its scope. */
export async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await Deno.makeTempDir({ prefix: "samepage-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

/** The files that `deno publish` would upload, relative to the checkout. */
export async function publishedFiles(): Promise<string[]> {
  // Types are the business of `deno task check`, which makes the same dry run with them.
  const { stderr, stdout } = await deno(["publish", "--dry-run", "--allow-dirty", "--no-check"]);
  const urls = [...`${stdout}${stderr}`.matchAll(/^\s+(file:\/\/\S+) \([^)]*\)$/gm)].map((match) => match[1]);
  if (urls.length === 0) throw new Error(`deno publish --dry-run listed no file:\n${stdout}${stderr}`);
  return urls.map((url) => relative(ROOT, fromFileUrl(url)));
}
