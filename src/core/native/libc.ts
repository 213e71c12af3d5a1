import type { Address } from "../../../ffi/address.ts";
import { EAGAIN, EBADF, EINTR, EMFILE, ENFILE, ERROR_NAMES } from "../../../ffi/libc/errors.ts";
import type { LibC } from "../../../ffi/libc/functions.ts";
import { SYMBOLS } from "../../../ffi/libc/symbols.ts";
import { type ErrorFields, InteropError, LibraryNotFoundError, messageOf, type NativeCallError } from "../errors.ts";
import { codeError } from "./codes.ts";
import { lazyLibrary, type LibrarySpec, type Link, openingOf, permitted } from "./library.ts";
import { cString } from "./text.ts";
import { RTLD_NODELETE, RTLD_NOLOAD, RTLD_NOW } from "../../../ffi/libc/constants.ts";

const HINT = "samepage needs Linux with glibc.";
const FILES = ["libc.so.6", "libc.so"];

/**
 * What memory takes, and what shows that it is glibc. Deno spends 0.2 ms on each function;
 * most programs need no other.
 */
const FIRST: ReadonlySet<string> = new Set<keyof LibC>([
  "mmap",
  "munmap",
  "madvise",
  "sched_yield",
  "__errno_location",
  "gnu_get_libc_version",
]);

/**
 * All functions, once they are open, and the object with getters that they stand for: to find one by its getter takes longer
 * than most calls.
 */
let whole: { readonly of: object; readonly all: object } | undefined;

/** The other functions open when one of them is first called. */
const link: Link = (path, symbols, api) => {
  const open = (isWanted: (name: string) => boolean) =>
    Deno.dlopen(path, Object.fromEntries(Object.entries(symbols).filter(([name]) => isWanted(name)))).symbols;
  let others: Record<string, unknown> | undefined;
  const later = (): Record<string, unknown> => {
    try {
      if (others === undefined) {
        others = permitted(`to open ${path}`, api, () => open((name) => !FIRST.has(name)));
        whole = { of: functions, all: { ...functions } };
      }
      return others;
    } catch (error) {
      if (error instanceof InteropError) throw error;
      const attempt = { path, message: messageOf(error) };
      throw new LibraryNotFoundError(`${path} lacks a function that is called here.`, [attempt], { api, hint: HINT });
    }
  };
  const functions: Record<string, unknown> = { ...open((name) => FIRST.has(name)) };
  for (const name of Object.keys(symbols)) {
    if (!FIRST.has(name)) Object.defineProperty(functions, name, { enumerable: true, get: () => later()[name] });
  }
  return functions;
};

const opened = lazyLibrary<LibC>({ api: "libc", candidates: FILES, symbols: SYMBOLS, hint: HINT, link });

/**
 * Where libc leaves the codes of this thread. Looked up before any call fails, for Deno's pointers take a lock: where
 * threads meet at it, it leaves a code of its own (EAGAIN), 1 in 11 million times beside three busy Workers.
 */
let code: Int32Array | undefined;

/** Opened on the first call. */
export function libc(): LibC {
  const functions = opened();
  code ??= codeAt(functions.__errno_location());
  return functions === whole?.of ? whole.all as LibC : functions;
}

/**
 * Some of its functions, by a table of their own, opened on the first call. After one that failed, {@link errno} says why.
 *
 * @param api as errors name it
 * @param symbols the table, as Deno.dlopen takes it
 * @param candidates where they may be; the C library by default
 */
export function partOfLibc<F>(
  api: string,
  symbols: Deno.ForeignLibraryInterface,
  candidates: readonly string[] = FILES,
): () => F {
  const open = lazyLibrary<F>({ api, candidates, symbols, hint: HINT });
  let functions: F | undefined;
  return () => functions ??= (libc(), open()); // libc finds errno before anything fails
}

function codeAt(location: Address): Int32Array {
  return permitted("to look at memory", "libc", () => {
    const pointer = Deno.UnsafePointer.create(location)!;
    return new Int32Array(Deno.UnsafePointerView.getArrayBuffer(pointer, Int32Array.BYTES_PER_ELEMENT));
  });
}

/** What to do about a code, whichever function it came from. */
const HINTS: ReadonlyMap<number, string> = new Map([
  [EBADF, "Is the fd still open?"],
  [EMFILE, "Close fds, or raise the limit (ulimit -n)."],
  [ENFILE, "The whole system has no fd left: close some, in any process."],
]);

/** What to do: where a text fits every code of the function, the text; else a text for each code. */
export type Hints = string | Readonly<Record<number, string>>;

/** Made before any other native call, which would change errno. */
export function libcError(fn: string, hints?: Hints, api: string = "libc"): NativeCallError {
  return errnoError(api, errno(), fn, hints);
}

/**
 * The error of a call that failed with an errno, by the code's name and with what to do about it.
 *
 * @param api whose call it was; `fn` is its function
 */
export function errnoError(
  api: string,
  code: number,
  fn: string,
  hints: Hints = {},
  fields: Omit<ErrorFields, "hint"> = {},
): NativeCallError {
  const all = typeof hints === "string" ? [hints, HINTS.get(code)] : [hints[code] ?? HINTS.get(code)];
  const hint = all.filter((one) => one !== undefined).join(" ") || undefined;
  return codeError({ api, names: ERROR_NAMES, unknown: "unknown error" }, code, fn, { ...fields, hint });
}

/** The code that the last failed call has left. Read it before any other native call, which would change it. */
export function errno(): number {
  return code?.[0] ?? 0;
}

/** Makes a system call, again where a signal came between. Returns its result, or its code below zero. */
export function retried(call: () => number): number {
  for (;;) {
    const result = call();
    if (result >= 0) return result;
    const code = errno();
    if (code !== EINTR && code !== EAGAIN) return -code;
  }
}

/**
 * The opener of an API's library, which opens on the first call and stays loaded until the process ends. When a Worker
 * ends, Deno closes the libraries that it opened, even while another thread waits in one of them.
 */
export function keptLibrary<F>(spec: LibrarySpec<Deno.ForeignLibraryInterface>): () => F {
  const open = lazyLibrary<F>(spec);
  let functions: F | undefined;
  return function library() {
    return functions ??= kept(spec.api, open());
  };
}

function kept<F>(api: string, opened: F): F {
  libc().dlopen?.(cString(openingOf(api)!.path!), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE); // it is open: this finds it
  return opened;
}
