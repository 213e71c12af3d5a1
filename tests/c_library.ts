/**
 * Libraries in C that tests bring along: drivers, stand-ins, and other code that calls samepage.
 *
 * @module
 */
import { dirname } from "node:path"; // rows of tests/misuse have no import map for more

/** A library in C. */
export interface CLibrary {
  /** The C files; the library is made again where one of them is newer. */
  readonly sources: readonly string[];
  /** The path of the library that is built. Git ignores that folder. */
  readonly library: string;
  /** Further arguments for cc: `"-lva"`. */
  readonly args?: readonly string[];
  /** What cc prints if the headers are missing, and what to install then. */
  readonly headers?: { readonly said: string; readonly missing: string };
}

const OPTIONS = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread"];

/**
 * Compiles it. It appears whole, so that several processes may make it at once.
 *
 * @returns what is missing, cc or the headers; undefined once the library is built.
 */
export async function buildLibrary({ sources, library, args = [], headers }: CLibrary): Promise<string | undefined> {
  if (await isNewerThan(library, sources)) return undefined;
  const folder = dirname(library);
  await Deno.mkdir(folder, { recursive: true });
  const unfinished = await Deno.makeTempFile({ dir: folder });
  try {
    const all = [...OPTIONS, "-o", unfinished, ...sources, ...args];
    const { success, stderr } = await new Deno.Command("cc", { args: all }).output();
    const said = new TextDecoder().decode(stderr);
    if (success) await Deno.rename(unfinished, library);
    else if (headers === undefined || !said.includes(headers.said)) {
      throw new Error(`cc could not make ${library}:\n${said}`);
    }
    return success ? undefined : headers!.missing;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "cc";
    throw error;
  } finally {
    await Deno.remove(unfinished).catch(() => {});
  }
}

async function isNewerThan(library: string, sources: readonly string[]): Promise<boolean> {
  const built = await Deno.stat(library).catch(() => undefined);
  const files = await Promise.all(sources.map((path) => Deno.stat(path)));
  return built !== undefined && files.every(({ mtime }) => built.mtime! >= mtime!);
}
