import { shown } from "../argument.ts";
import {
  ArgumentError,
  type ErrorFields,
  InteropError,
  type LibraryAttempt,
  LibraryNotFoundError,
  messageOf,
  PermissionError,
} from "../errors.ts";
import {
  ELFCLASS64,
  ELFDATA2LSB,
  ELFMAG0,
  O_CLOEXEC,
  O_NONBLOCK,
  O_RDONLY,
  PT_LOAD,
  SEEK_END,
  SEEK_SET,
} from "../../../ffi/libc/constants.ts";
import type { LibC } from "../../../ffi/libc/functions.ts";
import { Elf64_Ehdr, Elf64_Phdr, readElf64Ehdr, readElf64Phdr } from "../../../ffi/libc/structs.ts";
import { SYMBOLS } from "../../../ffi/libc/symbols.ts";

/** The process's own C library: the one that SAMEPAGE_LIB_LIBC names may be the file in question. */
const LIBC = "libc.so.6";

type Files = Pick<LibC, "open" | "read" | "lseek" | "close">;

/** Undefined without the permission; opening the library itself will ask for it. */
function ownLibC(): Files | undefined {
  const { open, read, lseek, close } = SYMBOLS;
  try {
    return Deno.dlopen(LIBC, { open, read, lseek, close }).symbols as unknown as Files;
  } catch {
    return undefined;
  }
}

/**
 * What is wrong with a library's file that the loader does not notice: it waits at a pipe, and the process ends by SIGBUS
 * if a part that the file's header promises is cut off. Undefined if nothing is wrong, or the loader reports it itself.
 * @param path a path with a slash in it; the loader alone knows the file of a bare name
 */
function faultOf(path: string): string | undefined {
  const files = ownLibC();
  const fd = files?.open(new TextEncoder().encode(`${path}\0`), O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0) ?? -1;
  if (files === undefined || fd < 0) return undefined;
  try {
    const size = files.lseek(fd, 0n, SEEK_END);
    if (size < 0n) return "it is not a regular file.";
    const end = endOf((at, length) => bytesAt(files, fd, at, length));
    return end <= size ? undefined : `it is cut off: it has ${size} bytes, and its parts reach to byte ${end}.`;
  } finally {
    files.close(fd);
  }
}

type Read = (at: bigint, length: number) => DataView | undefined;

/**
 * The end of the parts that the loader maps; 0 for a file that is not a library for this machine: the loader says so.
 */
function endOf(read: Read): bigint {
  const header = read(0n, Elf64_Ehdr.size);
  if (header === undefined || header.getUint32(0) !== ELF_MAGIC) return 0n;
  if (header.getUint8(CLASS_AT) !== ELFCLASS64 || header.getUint8(DATA_AT) !== ELFDATA2LSB) return 0n;
  const { e_phoff, e_phentsize, e_phnum } = readElf64Ehdr(header, 0);
  if (e_phentsize !== Elf64_Phdr.size) return 0n;
  const segments = read(e_phoff, e_phnum * Elf64_Phdr.size);
  if (segments === undefined) return e_phoff + BigInt(e_phnum * Elf64_Phdr.size);
  let end = 0n;
  for (let i = 0; i < e_phnum; i++) {
    const { p_type, p_offset, p_filesz } = readElf64Phdr(segments, i * Elf64_Phdr.size);
    if (p_type === PT_LOAD && p_offset + p_filesz > end) end = p_offset + p_filesz;
  }
  return end;
}

/** The first bytes of an ELF file: 0x7f, "ELF". */
const ELF_MAGIC = ELFMAG0 << 24 | 0x454c46;

/** Where an ELF file says how many bits it is for, and in which order its bytes are (elf.h). */
const [CLASS_AT, DATA_AT] = [4, 5];

function bytesAt(files: Files, fd: number, at: bigint, length: number): DataView | undefined {
  const bytes = new Uint8Array(length);
  if (files.lseek(fd, at, SEEK_SET) !== at) return undefined;
  return files.read(fd, bytes, BigInt(length)) === BigInt(length) ? new DataView(bytes.buffer) : undefined;
}

export interface LibrarySpec<S extends Deno.ForeignLibraryInterface> {
  /** The API, as errors name it: `"opencl"`. `SAMEPAGE_LIB_<API>` overrides the candidates. */
  readonly api: string;
  /** Names and paths for the loader, tried in order. */
  readonly candidates: readonly string[];
  readonly symbols: S;
  readonly hint: string;
  /**
   * Why a candidate that opened does not suit; undefined if it does. A candidate that suits is preferred. If none does,
   * the first that opened is taken, because its own calls say more. The override is taken without asking.
   */
  readonly unsuited?: (functions: Record<string, unknown>) => string | undefined;
  /** Opens a candidate; `Deno.dlopen` by default. */
  readonly link?: Link;
}

/** Opens a path; returns the functions by name. @throws {Error} of Deno if it does not open or lacks one. */
export type Link = (path: string, symbols: Deno.ForeignLibraryInterface, api: string) => Record<string, unknown>;

/** A copy, because Deno's object has no prototype: V8 looks such an object's fields up by a hash, at every call. */
const dlopen: Link = (path, symbols) => ({ ...Deno.dlopen(path, symbols).symbols });

export interface Opening {
  /** The variable that overrides the candidates: `"SAMEPAGE_LIB_OPENCL"`. */
  readonly variable: string;
  readonly override: string | undefined;
  readonly path: string | undefined;
  /** Every other candidate that was tried, in order. */
  readonly attempts: readonly LibraryAttempt[];
}

const openings = new Map<string, Opening>();

/** How an API's library was opened; undefined if it was never called, or that was not permitted. */
export function openingOf(api: string): Opening | undefined {
  return openings.get(api);
}

/** Sees each library's functions as it opens, and may replace them: for fault injection in tests. */
export type Tap = (api: string, functions: Record<string, unknown>) => Record<string, unknown>;

let tap: Tap | undefined;

export function setTap(next: Tap | undefined): void {
  tap = next;
}

/**
 * Makes the opener of a library, which opens on the first call, once, and never closes.
 * @typeParam F the functions with their C parameter names, as generated beside the table
 * @throws {LibraryNotFoundError} if no candidate opens; `attempts` says why for each.
 * @throws {PermissionError} without `--allow-ffi`.
 */
export function lazyLibrary<F>(spec: LibrarySpec<Deno.ForeignLibraryInterface>): () => F {
  let functions: F | undefined;
  return () => functions ??= open(spec) as F;
}

/** Where a library may be: by its names, then by the first of them in the folders of distributions. */
export function libraryPaths(name: string, ...others: readonly string[]): readonly string[] {
  const folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"];
  return [name, ...others, ...folders.map((folder) => `${folder}/${name}`)];
}

export type Newer<F> = { [Name in keyof F]: null extends F[Name] ? Name : never }[keyof F];

/** One of those functions. @throws {InteropError} if `whose`, as the message names the library, lacks it. */
export function newerOf<F, Name extends Newer<F>>(
  functions: F,
  name: Name,
  whose: string,
  { api, hint }: { readonly api: string; readonly hint: string },
): NonNullable<F[Name]> {
  const fn = functions[name];
  if (fn !== null && fn !== undefined) return fn;
  throw new InteropError(`${whose} has no ${String(name)}.`, { api, fn: String(name), hint });
}

function open(spec: LibrarySpec<Deno.ForeignLibraryInterface>): Record<string, unknown> {
  // If a prompt is granted during a load by soname, that load fails: so the permission is requested before.
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
      attempts.push({ path, message: reasonIn(messageOf(error), path) });
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
  const isOne = attempts.length === 1; // the one that the program or the variable names
  const tried = attempts.map(({ path, message }) => isOne ? `${shown(path)}: ${message}` : shown(path));
  throw new LibraryNotFoundError(
    `No ${spec.api} library could be opened; tried ${tried.join(", ")}.`,
    attempts,
    {
      api: spec.api,
      fn: "dlopen",
      hint: hintForNeeded(attempts) ??
        (override === undefined ? spec.hint : `${variable} names it: correct or unset that variable.`),
    },
  );
}

/** What the loader says, without what Deno puts before it, and without the path: a library that it needs keeps its name. */
function reasonIn(message: string, path: string): string {
  const said = message.replace(/^((Failed to register|Could not open|Could not obtain) [^:]*: )+/, "");
  return (said.startsWith(`${path}: `) ? said.slice(path.length + 2) : said).replace(/\.$/, "");
}

/** What to do where a library is there, and one that it needs is not. */
function hintForNeeded(attempts: readonly LibraryAttempt[]): string | undefined {
  for (const { path, message } of attempts) {
    const [, needed] = /^(\S+): cannot open shared object file/.exec(message) ?? [];
    if (needed !== undefined) return `${path} needs ${needed}: install it, or name its folder in LD_LIBRARY_PATH.`;
  }
  return undefined;
}

function opened(api: string, functions: Record<string, unknown>, opening: Opening): Record<string, unknown> {
  openings.set(api, opening);
  return tap === undefined ? functions : tap(api, { ...functions });
}

/** Makes functions of their addresses, for {@link functionsByAddress}: undefined where it cannot. */
export type AddressLink = (
  api: string,
  symbols: Readonly<Record<string, Deno.ForeignFunction>>,
  addresses: ReadonlyMap<string, bigint>,
) => Record<string, unknown> | undefined;

/**
 * Functions that no library exports, by their addresses; null where a function is missing.
 * @param api the name by which the tap knows them
 * @param symbols the parameters and result of each function
 * @param addressOf asks a driver for an address
 * @param link makes functions that are faster to call than Deno's own by a pointer
 */
export function functionsByAddress(
  api: string,
  symbols: Readonly<Record<string, Deno.ForeignFunction>>,
  addressOf: (name: string) => bigint,
  link: AddressLink,
): Record<string, unknown> {
  const names = Object.keys(symbols);
  const addresses = new Map(names.map((name) => [name, addressOf(name)] as const).filter(([, at]) => at !== 0n));
  const found = permitted(
    "to make a pointer",
    api,
    () => link(api, symbols, addresses) ?? byPointer(symbols, addresses),
  );
  const functions = Object.fromEntries(names.map((name) => [name, found[name] ?? null]));
  return tap === undefined ? functions : tap(api, functions);
}

/** Deno's own calls by a pointer take 1.7 µs each. */
function byPointer(
  symbols: Readonly<Record<string, Deno.ForeignFunction>>,
  addresses: ReadonlyMap<string, bigint>,
): Record<string, (...args: never[]) => unknown> {
  return Object.fromEntries(Array.from(addresses, ([name, address]) => {
    const fn = new Deno.UnsafeFnPointer(Deno.UnsafePointer.create<Deno.ForeignFunction>(address)!, symbols[name]);
    return [name, (...args: never[]) => fn.call(...args)];
  }));
}

/** Runs a function that needs FFI. Deno's NotCapable becomes a {@link PermissionError}. */
export function permitted<T>(what: string, api: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw notPermitted(what, api, error);
    throw error;
  }
}

/**
 * An environment variable; undefined if it is empty. It is read only if that is permitted already: samepage asks for no
 * permission except FFI.
 * @throws {ArgumentError} if its value is not UTF-8, which JavaScript cannot represent.
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

/** A variable that other code reads, for messages: a value that is not text is described. */
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
