import { shown } from "../argument.ts";
import { ArgumentError, type ErrorFields, type LibraryAttempt } from "../errors.ts";
import { LibraryNotFoundError, messageOf, PermissionError } from "../errors.ts";
import { faultOf } from "./library_file.ts";

/** A native library: what it is called, where it may be, what is wanted of it. */
export interface LibrarySpec<S extends Deno.ForeignLibraryInterface> {
  /** The API, as errors name it: `"opencl"`. `SAMEPAGE_LIB_<API>` overrides the candidates. */
  readonly api: string;
  /** Names and paths for the loader, tried in order. */
  readonly candidates: readonly string[];
  /** The symbol table. */
  readonly symbols: S;
  /** What to install or set where none opens. */
  readonly hint: string;
  /**
   * Why a candidate that opened is of no use here; undefined where it is. It is passed over for one that suits; where none
   * does, the first that opened is taken, whose own calls say more. What the override names is not asked about.
   */
  readonly unsuited?: (functions: Record<string, unknown>) => string | undefined;
  /** How a candidate is opened; by `Deno.dlopen` unless given. */
  readonly link?: Link;
}

/**
 * Opens the library at a path, and answers its functions by their names in the table.
 *
 * @throws {Error} in Deno's own words, where it does not open or lacks one.
 */
export type Link = (path: string, symbols: Deno.ForeignLibraryInterface, api: string) => Record<string, unknown>;

const dlopen: Link = (path, symbols) => Deno.dlopen(path, symbols).symbols;

/** What came of opening a library: where it was looked for, and what opened. */
export interface Opening {
  /** The variable that overrides the candidates: `"SAMEPAGE_LIB_OPENCL"`. */
  readonly variable: string;
  /** What it says, where it is set and may be read. */
  readonly override: string | undefined;
  /** The name or path that opened; undefined where none did. */
  readonly path: string | undefined;
  /** Every other one that was tried, in order. */
  readonly attempts: readonly LibraryAttempt[];
}

/** What came of it, by API: of the last try, where there were several. */
const openings = new Map<string, Opening>();

/** What came of opening an API's library; undefined where nobody has called it yet, or it was not permitted. */
export function openingOf(api: string): Opening | undefined {
  return openings.get(api);
}

/** Sees each library's functions as it is opened, and may put others in their place: for fault injection in tests. */
export type Tap = (api: string, functions: Record<string, unknown>) => Record<string, unknown>;

let tap: Tap | undefined;

/** Sets the tap for libraries opened from now on. */
export function setTap(next: Tap | undefined): void {
  tap = next;
}

/**
 * Makes the opener of a library: it opens on the first call, once, and never closes.
 *
 * @typeParam F the functions with their C parameter names, as generated beside the table
 * @throws {LibraryNotFoundError} where no candidate opens; `attempts` says why for each.
 * @throws {PermissionError} without `--allow-ffi`.
 */
export function lazyLibrary<F>(spec: LibrarySpec<Deno.ForeignLibraryInterface>): () => F {
  let functions: F | undefined;
  return () => functions ??= open(spec) as F;
}

function open(spec: LibrarySpec<Deno.ForeignLibraryInterface>): Record<string, unknown> {
  // Loading by soname under a prompt answered "allow" fails on that call itself, unless asked beforehand.
  Deno.permissions.requestSync({ name: "ffi" });
  const attempts: LibraryAttempt[] = [];
  const { link = dlopen, unsuited } = spec;
  const variable = `SAMEPAGE_LIB_${spec.api.toUpperCase()}`;
  const override = environment(variable);
  let second: { readonly path: string; readonly functions: Record<string, unknown> } | undefined;
  for (const path of override === undefined ? spec.candidates : [override]) {
    let functions: Record<string, unknown>;
    try {
      const fault = path.includes("/") ? faultOf(path) : undefined;
      if (fault !== undefined) {
        attempts.push({ path, message: fault });
        continue;
      }
      functions = link(path, spec.symbols, spec.api);
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw notPermitted(`to open ${shown(path)}`, spec.api, error);
      if (error instanceof PermissionError) throw error;
      attempts.push({ path, message: messageOf(error) });
      continue;
    }
    const reason = override === undefined ? unsuited?.(functions) : undefined;
    if (reason === undefined) return opened(spec.api, functions, { variable, override, path, attempts });
    second ??= { path, functions };
    attempts.push({ path, message: reason });
  }
  if (second !== undefined) {
    const { path, functions } = second;
    const others = attempts.filter((attempt) => attempt.path !== path);
    return opened(spec.api, functions, { variable, override, path, attempts: others });
  }
  openings.set(spec.api, { variable, override, path: undefined, attempts });
  throw new LibraryNotFoundError(
    `No ${spec.api} library could be opened; tried ${attempts.map((attempt) => shown(attempt.path)).join(", ")}.`,
    attempts,
    {
      api: spec.api,
      fn: "dlopen",
      hint: override === undefined ? spec.hint : `${variable} names it: correct it, or unset it.`,
    },
  );
}

function opened(api: string, functions: Record<string, unknown>, opening: Opening): Record<string, unknown> {
  openings.set(api, opening);
  return tap === undefined ? functions : tap(api, { ...functions });
}

/**
 * Functions that no library exports, by their addresses; null where there is none.
 *
 * @param api as the tap knows it
 * @param symbols what each function takes and answers
 * @param addressOf asks whoever has them
 */
export function functionsByAddress(
  api: string,
  symbols: Record<string, Deno.ForeignFunction>,
  addressOf: (name: string) => bigint,
): Record<string, unknown> {
  const functions: Record<string, unknown> = {};
  for (const [name, symbol] of Object.entries(symbols)) {
    const pointer = permitted(
      "to make a pointer",
      api,
      () => Deno.UnsafePointer.create<Deno.ForeignFunction>(addressOf(name)),
    );
    functions[name] = pointer === null ? null : callerOf(pointer, symbol);
  }
  return tap === undefined ? functions : tap(api, functions);
}

function callerOf(
  pointer: Deno.PointerObject<Deno.ForeignFunction>,
  symbol: Deno.ForeignFunction,
): (...args: never[]) => unknown {
  const fn = new Deno.UnsafeFnPointer(pointer, symbol);
  return (...args) => fn.call(...args);
}

/** Runs what needs FFI; Deno's NotCapable becomes a {@link PermissionError}. */
export function permitted<T>(what: string, api: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw notPermitted(what, api, error);
    throw error;
  }
}

/**
 * An environment variable; undefined where it is empty. It is read only where that is permitted already: samepage asks for no
 * permission but FFI.
 *
 * @throws {ArgumentError} where its value is not UTF-8: JavaScript cannot have it.
 */
export function environment(name: string): string | undefined {
  if (Deno.permissions.querySync({ name: "env", variable: name }).state !== "granted") return undefined;
  try {
    return Deno.env.get(name) || undefined;
  } catch (cause) {
    if (!(cause instanceof Deno.errors.InvalidData)) throw cause;
    const fields = { api: "core", argument: name, cause, hint: "Correct it, or unset it." };
    throw new ArgumentError(`${name}: its value is not UTF-8 text.`, fields);
  }
}

/** The same for messages about variables that others read: what is not text is told in words. */
export function environmentInWords(name: string): string | undefined {
  try {
    return environment(name);
  } catch (error) {
    if (error instanceof ArgumentError) return "(not UTF-8 text)";
    throw error;
  }
}

function notPermitted(what: string, api: string, cause: unknown): PermissionError {
  const fields: ErrorFields = { api, cause, hint: "Run with --allow-ffi, without a path: pointers need all of it." };
  return new PermissionError(`Deno does not permit ${what}.`, "--allow-ffi", fields);
}
