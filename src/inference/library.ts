import { Checks } from "../core/checks.ts";
import { InteropError } from "../core/errors.ts";
import { keptLibrary } from "../core/native/libc.ts";
import { environment, libraryPaths, openingOf } from "../core/native/library.ts";

/** A library that is usually installed as a Python package. */
export interface RuntimeInit<O> {
  /** The API, as errors name it, and its name in sentences. */
  readonly api: string;
  readonly title: string;
  /** Its names for the loader. */
  readonly names: readonly [string, ...string[]];
  /** Its folder in a Python package, and the name of its file there. */
  readonly wheel: string;
  readonly file: RegExp;
  /** The functions, as `Deno.dlopen` takes them. */
  readonly symbols: Deno.ForeignLibraryInterface;
  /** The Python package. */
  readonly install: string;
  /** Makes the object that the room calls, from the functions. */
  // deno-lint-ignore no-explicit-any -- the functions of `symbols`
  made(functions: any): O;
}

/** The library of a runtime. A process opens one at most. */
export class RuntimeLibrary<O> {
  /** Checks of what callers pass. */
  readonly checks: Checks;
  readonly #init: RuntimeInit<O>;
  #opened: O | undefined;

  /** Opens nothing: the first context does. */
  constructor(init: RuntimeInit<O>) {
    this.#init = init;
    this.checks = new Checks(init.api);
  }

  /** The open library. @throws {InteropError} if no context was opened in this isolate. */
  get opened(): O {
    if (this.#opened !== undefined) return this.#opened;
    const { api, title } = this.#init;
    throw new InteropError(`${title} is not open.`, { api, fn: "dlopen", hint: "Open a context first." });
  }

  /**
   * Opens it, or returns the open library. It is looked for at the given path; otherwise by its name, and where pip puts
   * it, as far as folders may be read.
   *
   * @throws {ArgumentError} for another path than that of the open library.
   * @throws {LibraryNotFoundError} if it is not there.
   */
  open(path: string | undefined): O {
    const { api, names, wheel, file, symbols, install, made } = this.#init;
    if (path !== undefined) this.checks.assertText(path, "library");
    const open = openingOf(api)?.path;
    if (path !== undefined && open !== undefined && open !== path) {
      throw this.checks.wrong("library", `${open} is open already, and a process can open only one.`, "Leave it out.");
    }
    if (this.#opened !== undefined) return this.#opened;
    const place = `open({ library }) or SAMEPAGE_LIB_${api.toUpperCase()}`;
    const hint = `Install it (pip install ${install}), and name its file by ${place}.`;
    const candidates = path === undefined ? [...libraryPaths(...names), ...inWheels(wheel, file)] : [path];
    return this.#opened = made(keptLibrary({ api, candidates, symbols, hint })());
  }
}

/** The files of an installed Python package: of the active environment, of the user, or of the system. */
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

/** The names in a folder; none if it does not exist, or must not be read. */
function namesIn(path: string): string[] {
  if (Deno.permissions.querySync({ name: "read", path }).state !== "granted") return [];
  try {
    return [...Deno.readDirSync(path)].map(({ name }) => name);
  } catch {
    return [];
  }
}
