import { Checks } from "../core/checks.ts";
import { keptLibrary } from "../core/native/libc.ts";
import { environment, libraryPaths, openingOf } from "../core/native/library.ts";

/** A library that people install as a Python package. */
export interface RuntimeLibrary {
  /** The API, as errors name it. */
  readonly api: string;
  /** Where the program says that it is; undefined to look for it. */
  readonly path: string | undefined;
  /** Its names for the loader. */
  readonly names: readonly [string, ...string[]];
  /** Its folder in a Python package, and the name of its file there. */
  readonly wheel: string;
  readonly file: RegExp;
  /** The functions, as `Deno.dlopen` takes them. */
  readonly symbols: Deno.ForeignLibraryInterface;
  /** The command that installs it. */
  readonly install: string;
}

/** Those that are open: a process has one of each. */
const opened = new Map<string, unknown>();

/**
 * Opens such a library, or returns the one that is open: at the path that is given, by its name, or where pip has put it, as far as folders may be read.
 *
 * @throws {ArgumentError} for a path beside the library that is open.
 * @throws {LibraryNotFoundError} if it is not there.
 */
export function openRuntime<F>({ api, path, names, wheel, file, symbols, install }: RuntimeLibrary): F {
  const checks: Checks = new Checks(api);
  if (path !== undefined) checks.assertText(path, "library");
  const open = openingOf(api)?.path;
  if (path !== undefined && open !== undefined && open !== path) {
    throw checks.wrong("library", `${open} is open, and a process has one.`, "Leave it out.");
  }
  if (opened.has(api)) return opened.get(api) as F;
  const hint = `Install it, ${install}, and say where it is: open({ library }), or SAMEPAGE_LIB_${api.toUpperCase()}.`;
  const candidates = path === undefined ? [...libraryPaths(...names), ...inWheels(wheel, file)] : [path];
  const functions = keptLibrary<F>({ api, candidates, symbols, hint })();
  opened.set(api, functions);
  return functions;
}

/** The files of a Python package that is installed, for the environment that is active, the user, or all. */
function inWheels(wheel: string, file: RegExp): string[] {
  const venv = environment("VIRTUAL_ENV");
  const home = environment("HOME");
  const roots = [venv, home && `${home}/.local`, "/usr/local", "/usr"].filter((root) => root !== undefined);
  const packages = roots.flatMap((root) => {
    const versions = namesIn(`${root}/lib`).filter((name) => name.startsWith("python3")).sort().reverse();
    return versions.flatMap((name) => ["site", "dist"].map((kind) => `${root}/lib/${name}/${kind}-packages`));
  });
  return packages.flatMap((folder) => {
    const found = namesIn(`${folder}/${wheel}`).filter((name) => file.test(name));
    return found.map((name) => `${folder}/${wheel}/${name}`);
  });
}

/** The names in a folder; none where it is not there, or may not be read. */
function namesIn(path: string): string[] {
  if (Deno.permissions.querySync({ name: "read", path }).state !== "granted") return [];
  try {
    return [...Deno.readDirSync(path)].map(({ name }) => name);
  } catch {
    return [];
  }
}
