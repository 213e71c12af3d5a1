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

/** The minor versions of Python 3 that are looked for, the newest first. */
const MINORS = [14, 13, 12, 11, 10, 9];

/** Extension modules, NumPy's too, find Python's functions among those of the whole process. */
const openGlobally: Link = (path, symbols) => {
  libc().dlopen?.(cString(path), RTLD_NOW | RTLD_GLOBAL);
  return Deno.dlopen(path, symbols).symbols;
};

/** A Python on the disk: a venv, or what one is made of. */
export interface Installation {
  /** Its folder, with `bin/python3` in it. */
  readonly folder: string;
  /** The folder that Python itself lies in. For a venv that is another one. */
  readonly base: string;
  /** The minor version that a venv is for. */
  readonly minor?: number;
}

/** The Python at a folder, by the pyvenv.cfg that a venv has. */
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

/** Where the library of a Python may be; of any Python, if none is given. */
function candidatesFor(of: Installation | undefined): string[] {
  const minors = of?.minor === undefined ? MINORS : [of.minor];
  const names = minors.map((minor) => `libpython3.${minor}.so.1.0`);
  if (of === undefined) return names;
  const folders = ["lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"];
  const own = names.flatMap((name) => folders.map((folder) => `${of.base}/${folder}/${name}`));
  return of.minor === undefined ? own : [...own, ...names];
}

/** The Python that is opened by default: the venv of the environment. Undefined for that of the library itself. */
export function defaultInstallation(): Installation | undefined {
  const folder = environment("VIRTUAL_ENV");
  return folder === undefined ? undefined : installationAt(folder);
}

/** What of Python is here, without starting it: its library stays apart, and nothing is initialized. */
export interface Found {
  readonly version: string;
  readonly installation: Installation;
  /** Those of these modules that it can import, by their folders. */
  readonly modules: readonly string[];
}

/** @throws {LibraryNotFoundError} if there is no library. */
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
  /** What it was opened by. */
  readonly path: string;
  /** Its version: `"3.11.2"`. */
  readonly version: string;
  readonly minor: number;
}

/** @throws {LibraryNotFoundError} if it is not there. @throws {InteropError} for a version that is not supported. */
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

/** The Python that a library is a part of. */
export function installationOf({ path }: Pick<OpenLibrary, "path">): Installation {
  const file = fileOf(path, "Py_GetVersion") ?? path;
  const folder = /^(.*?)\/lib(64)?\//.exec(file)?.[1] || "/usr"; // /lib is /usr/lib
  return { folder, base: folder };
}

/** Without its modules, Python would end the process at its start. @throws {InteropError} if they are not there. */
export function assertWhole({ base, folder }: Installation, { minor, version }: OpenLibrary): void {
  const places = ["lib", "lib64"].map((lib) => `${base}/${lib}/python3.${minor}/os.py`);
  if (places.some((place) => textOf(place) !== "")) return;
  throw new InteropError(`The modules of Python ${version} are not at ${folder}: there is no ${places[0]}.`, {
    ...{ api: API, argument: "home" },
    hint: "Pass the folder of a venv, or of the installation that the library belongs to, as home.",
  });
}
