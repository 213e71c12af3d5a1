import { fromFileUrl, join, relative, toFileUrl } from "@std/path";
import { deno, ROOT, temporaryFolder } from "./project.ts";

/** One import or export … from, as it stands in a module of this project. */
export interface Import {
  /** The importing file, relative to the checkout. */
  readonly from: string;
  /** What the source says, as it is written there. */
  readonly specifier: string;
  /** What that is: a file relative to the checkout, or else a URL. */
  readonly to: string;
  /** Every mention of it in the file is an `import type`, so that nothing is loaded. */
  readonly typeOnly: boolean;
}

interface Info {
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly {
      readonly specifier: string;
      readonly code?: { readonly specifier: string };
      readonly type?: { readonly specifier: string };
    }[];
  }[];
}

const MODULE = /\.[cm]?[jt]sx?$/;

/** A file's path relative to the checkout; other URLs as they are. */
function nameOf(url: string): string {
  if (!url.startsWith("file:")) return url;
  const path = relative(ROOT, fromFileUrl(url));
  return path.startsWith("..") ? url : path;
}

/**
 * Every import of the named modules (other files among them are passed over). `deno info --json` is asked, since it is
 * the parser that runs them: it sees multi-line imports, re-exports, `import()` with a literal and types in JSDoc, is
 * not fooled by comments and strings, resolves each specifier, and distinguishes `import type` from an import of code.
 */
export async function importsOf(files: readonly string[]): Promise<Import[]> {
  await using folder = await temporaryFolder();
  const root = join(folder.path, "all.ts");
  const modules = files.filter((file) => MODULE.test(file));
  const lines = modules.map((file) => `import ${JSON.stringify(toFileUrl(join(ROOT, file)).href)};\n`);
  await Deno.writeTextFile(root, lines.join(""));
  const { stdout } = await deno(["info", "--json", "--no-lock", "--config", join(ROOT, "deno.json"), root]);
  const info: Info = JSON.parse(stdout);

  const wanted = new Set(modules);
  return info.modules.flatMap((module) => {
    const from = nameOf(module.specifier);
    if (!wanted.has(from)) return [];
    return (module.dependencies ?? []).map(({ specifier, code, type }) => {
      const to = nameOf(code?.specifier ?? type?.specifier ?? specifier);
      return { from, specifier, to, typeOnly: code === undefined };
    });
  });
}

/** Everything that loading a file loads, and the file. */
export function loadedBy(file: string, imports: readonly Import[], seen: Set<string> = new Set()): Set<string> {
  if (seen.has(file)) return seen;
  seen.add(file);
  for (const it of imports) if (it.from === file && !it.typeOnly) loadedBy(it.to, imports, seen);
  return seen;
}

/** All files below the named files and folders of the checkout, in order. */
export async function filesUnder(...paths: string[]): Promise<string[]> {
  const found = await Promise.all(paths.map(async (path) => {
    const full = join(ROOT, path);
    if (!(await Deno.stat(full)).isDirectory) return [path];
    const entries = await Array.fromAsync(Deno.readDir(full));
    return await filesUnder(...entries.map((entry) => join(path, entry.name)));
  }));
  return found.flat().sort();
}
