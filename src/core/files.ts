/**
 * Regular files, read or written whole. A FIFO or a device is refused, because a read or a write of one may never end.
 *
 * @module
 */
import { messageOf } from "./errors.ts";

/** The functions of Deno's own node:fs that are used here. Only they open a file with O_NONBLOCK. */
interface FileSystem {
  readonly constants: Readonly<Record<"O_RDONLY" | "O_WRONLY" | "O_CREAT" | "O_EXCL" | "O_NONBLOCK", number>>;
  openSync(path: string, flags: number): number;
  fstatSync(fd: number): { readonly size: number; isFile(): boolean };
  readSync(fd: number, into: Uint8Array): number;
  writeSync(fd: number, from: Uint8Array, offset: number, length: number, position: number): number;
  ftruncateSync(fd: number, length: number): void;
  closeSync(fd: number): void;
}

/** Loaded on the first call: it takes Deno some milliseconds. It asks for the same permissions as `Deno.openSync`. */
function fileSystem(): FileSystem {
  return globalThis.process.getBuiltinModule("node:fs");
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
  const fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  try {
    const size = sizeOfRegular(fs, fd);
    if (size > most) throw tooLong(most);
    return readToEnd((into) => fs.readSync(fd, into), size, most);
  } finally {
    fs.closeSync(fd);
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
  try {
    return { fd: fs.openSync(path, O_WRONLY | O_NONBLOCK | O_CREAT), isNew: false };
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
