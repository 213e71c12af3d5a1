import { fromFileUrl } from "@std/path";

const ROOT = fromFileUrl(new URL("../../", import.meta.url));

/** How a program ended, and what it said. */
export interface Ended {
  readonly code: number;
  readonly signal: Deno.Signal | null;
  readonly out: string;
  readonly err: string;
}

/** Runs TypeScript that imports from `./src/` or `./ffi/`, in a process of its own. */
export async function run(
  source: string,
  flags: readonly string[] = ["-A"],
  env: Record<string, string> = {},
): Promise<Ended> {
  // deno's own eval has every permission, so the program is a file.
  const path = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(path, source.replaceAll(/"\.\/(src|ffi)\//g, `"file://${ROOT}$1/`));
    const args = ["run", "--no-prompt", "--no-check", "--config", `${ROOT}deno.json`, ...flags, path];
    const { code, signal, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, env }).output();
    const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes).trim());
    return { code, signal, out, err };
  } finally {
    await Deno.remove(path);
  }
}
