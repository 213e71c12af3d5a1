import type { CPython } from "../../ffi/python/functions.ts";
import { SYMBOLS } from "../../ffi/python/symbols.ts";
import { RTLD_GLOBAL, RTLD_NOW } from "../../ffi/libc/constants.ts";
import { Checks } from "../core/checks.ts";
import { InteropError } from "../core/errors.ts";
import { keptLibrary, libc } from "../core/native/libc.ts";
import { environment, lazyLibrary, type Link, openingOf } from "../core/native/library.ts";
import { fileOf } from "../core/native/loaded.ts";
import { textOf } from "../core/native/mappings.ts";
import { cString, textAt } from "../core/native/text.ts";

export const API = "python";

export const checks: Checks = new Checks(API);

const HINT = "Install Python's shared library (apt install libpython3.11), or pass the folder of a venv as home.";

/** The minor versions of Python 3 that are supported, the newest first. */
const MINORS = [14, 13, 12, 11, 10, 9];

/** Extension modules, such as NumPy's, look for Python's functions in the process's global scope. */
const openGlobally: Link = (path, symbols) => {
  libc().dlopen?.(cString(path), RTLD_NOW | RTLD_GLOBAL);
  return Deno.dlopen(path, symbols).symbols;
};

/** A Python on the disk: a venv, or an installation. */
export interface Installation {
  /** Its folder, with `bin/python3` in it. */
  readonly folder: string;
  /** The folder of the installation, which for a venv is another one. */
  readonly base: string;
  /** The minor version that a venv is for. */
  readonly minor?: number;
}

/** The Python in a folder, according to its pyvenv.cfg if it is a venv. */
export function installationAt(folder: string): Installation {
  const config = textOf(`${folder}/pyvenv.cfg`);
  const said = (name: string) => new RegExp(`^${name}\\s*=\\s*(.+?)\\s*$`, "m").exec(config)?.[1];
  const bin = said("home");
  const minor = /^3\.(\d+)/.exec(said("version(?:_info)?") ?? "")?.[1];
  return {
    folder,
    base: bin === undefined ? folder : bin.replace(/\/[^/]*\/*$/, "") || "/",
    ...(minor === undefined ? {} : { minor: Number(minor) }),
  };
}

/** Names and paths under which to look for the library of a Python; of any Python, if none is given. */
function candidatesFor(of: Installation | undefined): string[] {
  const minors = of?.minor === undefined ? MINORS : [of.minor];
  const names = minors.map((minor) => `libpython3.${minor}.so.1.0`);
  if (of === undefined) return names;
  const folders = ["lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"];
  const own = names.flatMap((name) => folders.map((folder) => `${of.base}/${folder}/${name}`));
  return of.minor === undefined ? own : [...own, ...names];
}

/** The venv of the environment, which is opened by default. Undefined without one: the library's own installation. */
export function defaultInstallation(): Installation | undefined {
  const folder = environment("VIRTUAL_ENV");
  return folder === undefined ? undefined : installationAt(folder);
}

/** A Python that was found but not initialized. */
export interface Found {
  readonly version: string;
  readonly installation: Installation;
  /** Those of the modules in question whose folders are there. */
  readonly modules: readonly string[];
}

/** Looks for a Python and modules without starting it. @throws {LibraryNotFoundError} if there is no library. */
export function lookAtPython(modules: readonly string[]): Found {
  const { Py_GetVersion } = SYMBOLS;
  const of = defaultInstallation();
  const library = { api: API, candidates: candidatesFor(of), symbols: { Py_GetVersion }, hint: HINT };
  const functions = lazyLibrary<Pick<CPython, "Py_GetVersion">>(library)();
  const version = textAt(functions.Py_GetVersion())?.split(" ")[0] ?? "";
  const installation = of ?? installationOf({ path: openingOf(API)!.path! });
  const lib = `lib/python${/^\d+\.\d+/.exec(version)?.[0]}`;
  const own = [`${installation.folder}/${lib}/site-packages`];
  const shared = ["local/" + lib + "/dist-packages", "lib/python3/dist-packages"].map((at) =>
    `${installation.base}/${at}`
  );
  const folders = of === undefined ? [...own, ...shared] : own;
  const has = (module: string) => folders.some((folder) => textOf(`${folder}/${module}/__init__.py`) !== "");
  return { version, installation, modules: modules.filter(has) };
}

/** A Python library that is open. */
export interface OpenLibrary {
  readonly functions: CPython;
  /** The name or path that opened it. */
  readonly path: string;
  /** Its version: `"3.11.2"`. */
  readonly version: string;
  readonly minor: number;
}

/** @throws {LibraryNotFoundError} if there is no library. @throws {InteropError} for a version that is not supported. */
export function openLibrary(library: string | undefined, of: Installation | undefined): OpenLibrary {
  const candidates = library === undefined ? candidatesFor(of) : [library];
  const functions = keptLibrary<CPython>({ api: API, candidates, symbols: SYMBOLS, hint: HINT, link: openGlobally })();
  const said = textAt(functions.Py_GetVersion()) ?? "";
  const [, version = said, major, minor] = /^((\d+)\.(\d+)\S*)/.exec(said) ?? [];
  if (Number(major) === 3 && Number(minor) >= MINORS.at(-1)! && !said.includes("free-threading")) {
    return { functions, path: openingOf(API)!.path!, version, minor: Number(minor) };
  }
  const fields = { api: API, fn: "Py_GetVersion", hint: HINT };
  throw new InteropError(`samepage needs Python 3.9 or newer, with its GIL, and this is ${said}.`, fields);
}

/** The installation that a library belongs to. */
export function installationOf({ path }: Pick<OpenLibrary, "path">): Installation {
  const file = fileOf(path, "Py_GetVersion") ?? path;
  const folder = /^(.*?)\/lib(64)?\//.exec(file)?.[1] || "/usr"; // /lib is /usr/lib
  return { folder, base: folder };
}

/** Python without its modules ends the process when it starts. @throws {InteropError} if they are missing. */
export function assertWhole({ base, folder }: Installation, { minor, version }: OpenLibrary): void {
  const places = ["lib", "lib64"].map((lib) => `${base}/${lib}/python3.${minor}/os.py`);
  if (places.some((place) => textOf(place) !== "")) return;
  throw new InteropError(`The modules of Python ${version} are not at ${folder}: there is no ${places[0]}.`, {
    ...{ api: API, argument: "home" },
    hint: "Pass the folder of a venv, or of the installation that the library belongs to, as home.",
  });
}
