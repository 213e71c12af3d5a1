/**
 * Regular files, read or written whole. A FIFO or a device is refused, because a read or a write of one may never end.
 *
 * @module
 */
import { literal, shown } from "./argument.ts";
import { ArgumentError, InteropError, messageOf, PermissionError, warn } from "./errors.ts";
import { allOrNothing } from "./life/undo.ts";
import { statusOf } from "./native/fd.ts";
import { libc, libcError } from "./native/libc.ts";
import { cString } from "./native/text.ts";

/** The functions of Deno's own node:fs that are used here. Only they open a file with O_NONBLOCK. */
interface FileSystem {
  readonly constants: Readonly<Record<"O_RDONLY" | "O_WRONLY" | "O_CREAT" | "O_EXCL" | "O_NONBLOCK", number>>;
  openSync(path: string | URL, flags: number): number;
  fstatSync(fd: number): { readonly size: number; isFile(): boolean };
  fstatSync(fd: number, options: { readonly bigint: true }): { readonly ino: bigint };
  readSync(fd: number, into: Uint8Array): number;
  writeSync(fd: number, from: Uint8Array, offset: number, length: number, position: number): number;
  ftruncateSync(fd: number, length: number): void;
  closeSync(fd: number): void;
}

/** Loaded on the first call: it takes Deno some milliseconds. It asks for the same permissions as `Deno.openSync`. */
function fileSystem(): FileSystem {
  return globalThis.process.getBuiltinModule("node:fs");
}

/** A path that a program gave, as an argument of an API. */
export interface GivenPath {
  readonly api: string;
  readonly argument: string;
  readonly given: unknown;
}

/** A path that a program gave. It has no zero byte: C would end it there, and open another file than Deno checked. */
export function pathIn({ api, argument, given }: GivenPath): string {
  if (typeof given === "string" && given !== "" && !given.includes("\0")) return given;
  throw new ArgumentError(`${argument}: expected a path, got ${literal(given)}.`, { api, argument });
}

/**
 * Has Deno use a file that a program names, because native code ignores Deno's permissions.
 * @throws {PermissionError} if Deno does not permit it.
 * @throws {ArgumentError} if it is not a path, or `use` fails; the message says why.
 */
export function asked<R>(
  { what, ...about }: GivenPath & { readonly what: "read" | "write" },
  use: (path: string) => R,
): R {
  const path = pathIn(about);
  try {
    return use(path);
  } catch (cause) {
    const { api, argument } = about;
    const fields = { api, argument, cause };
    if (cause instanceof Deno.errors.NotCapable) {
      const flag = `--allow-${what}=${path}`;
      throw new PermissionError(`Deno does not permit to ${what} ${shown(path)}.`, flag, {
        ...fields,
        hint: `Run with --allow-${what}=${shown(path)}.`,
      });
    }
    throw new ArgumentError(
      `${argument}: ${shown(path)} cannot be ${what === "read" ? "read" : "written"}: ${shown(messageOf(cause))}.`,
      fields,
    );
  }
}

export function isMissing(error: unknown): boolean {
  return hasCode(error, "ENOENT");
}

/**
 * Reads a regular file. Needs `--allow-read` of it.
 * @param most the most bytes that it may have
 * @throws {Deno.errors.NotCapable} if Deno does not permit it.
 * @throws {Error} if there is no regular file, it is longer, or it cannot be read. The message is the reason alone.
 */
export function readRegularFile(path: string, most: number): Uint8Array<ArrayBuffer> {
  const fs = fileSystem();
  using file = new OpenFile(fs, path);
  const { fd, size } = file;
  if (size > most) throw tooLong(most);
  return readToEnd((into) => fs.readSync(fd, into), size, most);
}

/**
 * Opens a regular file for native code to read. Needs `--allow-read` of it.
 * @throws {Deno.errors.NotCapable} if Deno does not permit it.
 * @throws {Error} if there is no regular file, or it cannot be opened. The message is the reason alone.
 */
export function openRegularFile(path: string | URL): Disposable & { readonly fd: number } {
  const file = new OpenFile(fileSystem(), path);
  return allOrNothing("opening a file", () => file.assertNative(), [() => file[Symbol.dispose]()]);
}

/** A regular file that is open for reading until the end of its block. */
class OpenFile implements Disposable {
  readonly fd: number;
  readonly size: number;
  readonly #fs: FileSystem;

  constructor(fs: FileSystem, path: string | URL) {
    this.#fs = fs;
    this.fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    this.size = allOrNothing("opening a file", () => sizeOfRegular(fs, this.fd), [() => this[Symbol.dispose]()]);
  }

  assertNative(): this {
    assertNative(this.#fs, this.fd);
    return this;
  }

  [Symbol.dispose](): void {
    this.#fs.closeSync(this.fd);
  }
}

/** The fd is the kernel's: Deno used to return numbers of its own. */
function assertNative(fs: FileSystem, fd: number): void {
  const { ino } = fs.fstatSync(fd, { bigint: true });
  const { identity } = statusOf(fd);
  if (BigInt.asUintN(64, identity) === ino) return;
  throw new InteropError("The fd that Deno's node:fs returns is not the kernel's.", { api: "core" });
}

/** The new files that are neither published nor removed: no finalizer runs as a process ends. */
const unfinished = new Set<NewFile>();

function removeUnfinished(): void {
  for (const file of unfinished) file.forget();
}

/**
 * A new file for native code to write, beside the one that it will replace: that one stays as it was until then. Unless it
 * was published, its end removes it, and so does the end of the process. Needs `--allow-write` of the folder.
 */
export class NewFile implements Disposable {
  readonly fd: number;
  readonly #fs: FileSystem = fileSystem();
  readonly #path: string;
  #own: string | undefined;

  /**
   * Creates it.
   *
   * @throws {Deno.errors.NotCapable} if Deno does not permit it.
   * @throws {Error} if the folder has no room for it. The message is the reason alone.
   */
  constructor(path: string) {
    const [fs, own] = [this.#fs, `${path}.${crypto.randomUUID().slice(0, 8)}.part`];
    const { O_WRONLY, O_CREAT, O_EXCL } = fs.constants;
    const fd = this.fd = fs.openSync(own, O_WRONLY | O_CREAT | O_EXCL);
    [this.#path, this.#own] = [path, own];
    allOrNothing("creating a file", () => assertNative(fs, fd), [() => this[Symbol.dispose]()]);
    unfinished.add(this);
    globalThis.addEventListener("unload", removeUnfinished); // once, however often it is called
  }

  /** Takes the place of the file that it was made for, whole. Deno has permitted to write both. */
  publish(): void {
    // Deno's own function asks for the permission to read, too.
    if (libc().rename(cString(this.#own!), cString(this.#path)) !== 0) throw libcError("rename");
    this.#own = undefined;
    unfinished.delete(this);
  }

  /** Removes it as the process ends, while native code may still write it. */
  forget(): void {
    warn(`${shown(this.#path)} is not written: what writes it was never closed, nor disposed.`);
    this.#remove();
  }

  [Symbol.dispose](): void {
    try {
      this.#fs.closeSync(this.fd);
    } finally {
      this.#remove();
    }
  }

  #remove(): void {
    const own = this.#own;
    this.#own = undefined;
    unfinished.delete(this);
    if (own !== undefined) Deno.removeSync(own);
  }
}

/**
 * Throws unless a path can be written as a regular file, of which it changes nothing. Needs `--allow-write` of it.
 * @throws {Deno.errors.NotCapable} if Deno does not permit it.
 * @throws {Error} if something else is there. The message is the reason alone.
 */
export function assertReplaceable(path: string): void {
  const fs = fileSystem();
  try {
    const fd = openOldToWrite(fs, path);
    try {
      sizeOfRegular(fs, fd);
    } finally {
      fs.closeSync(fd);
    }
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/**
 * Reads up to the end.
 * @param read puts what comes next into a buffer, and returns how many bytes that is; 0 at the end
 * @param size how many bytes are expected; the files in /proc have more than their size says
 * @param most the most bytes that are read
 * @throws {Error} if more bytes come.
 */
export function readToEnd(
  read: (into: Uint8Array<ArrayBuffer>) => number,
  size: number,
  most: number,
): Uint8Array<ArrayBuffer> {
  let bytes = new Uint8Array(size + 1); // one byte more, so that the end shows without another buffer
  let length = 0;
  for (;;) {
    if (length === bytes.length) bytes = enlarged(bytes);
    const count = read(bytes.subarray(length));
    if (count === 0) return bytes.subarray(0, length);
    length += count;
    if (length > most) throw tooLong(most);
  }
}

function tooLong(most: number): Error {
  return new Error(`it has more than ${most} bytes`);
}

function enlarged(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(2 * bytes.length);
  larger.set(bytes);
  return larger;
}

/**
 * Writes a regular file, which replaces the bytes of one that exists. It is written in place, since `--allow-write` of the
 * file alone permits no second file beside it; a symbolic link is followed.
 *
 * A full disk leaves an old file as it was: the bytes beyond its end are written first, and what replaces its own bytes
 * needs no more room.
 * @throws {Deno.errors.NotCapable} if Deno does not permit it.
 * @throws {Error} if it cannot be written. The message is the reason, and what is left of the file.
 */
export function writeRegularFile(path: string, bytes: Uint8Array): void {
  const fs = fileSystem();
  const { fd, isNew } = openToWrite(fs, path);
  try {
    const old = sizeOfRegular(fs, fd);
    let kept = old;
    try {
      writeRange(fs, fd, bytes, old, bytes.length);
      kept = 0;
      writeRange(fs, fd, bytes, 0, Math.min(old, bytes.length));
      fs.ftruncateSync(fd, bytes.length);
    } catch (cause) {
      throw new Error(`${messageOf(cause)}; ${takenBack(fs, fd, kept, old, isNew ? path : undefined)}`, { cause });
    }
  } finally {
    fs.closeSync(fd);
  }
}

function openToWrite(fs: FileSystem, path: string): { fd: number; isNew: boolean } {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NONBLOCK } = fs.constants;
  try {
    return { fd: fs.openSync(path, O_WRONLY | O_NONBLOCK | O_CREAT | O_EXCL), isNew: true };
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
  return { fd: openOldToWrite(fs, path, O_CREAT), isNew: false };
}

function openOldToWrite(fs: FileSystem, path: string, create: number = 0): number {
  const { O_WRONLY, O_NONBLOCK } = fs.constants;
  try {
    return fs.openSync(path, O_WRONLY | O_NONBLOCK | create);
  } catch (error) {
    throw hasCode(error, "ENXIO") ? irregular(error) : error; // a FIFO or a socket that no process reads
  }
}

function writeRange(fs: FileSystem, fd: number, bytes: Uint8Array, begin: number, end: number): void {
  for (let at = begin; at < end;) at += fs.writeSync(fd, bytes, at, end - at, at);
}

/** Takes back what a failed write has left, and says what remains. A file that was made for it is removed. */
function takenBack(fs: FileSystem, fd: number, kept: number, old: number, made: string | undefined): string {
  try {
    fs.ftruncateSync(fd, kept);
    if (made === undefined) return kept === old ? "the file is as it was" : "the file is empty now";
    Deno.removeSync(made);
    return "no file is left";
  } catch (error) {
    return `a part of the file is left, since it cannot be taken back: ${messageOf(error)}`;
  }
}

function sizeOfRegular(fs: FileSystem, fd: number): number {
  const info = fs.fstatSync(fd);
  if (!info.isFile()) throw irregular();
  return info.size;
}

function irregular(cause?: unknown): Error {
  return new Error("it is not a regular file", { cause });
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as { readonly code?: unknown }).code === code;
}
