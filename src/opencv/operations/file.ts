import { asked, pathIn as corePathIn, readRegularFile, writeRegularFile } from "../../core/files.ts";
import { MAX_INT } from "../type.ts";

/**
 * The bytes of an image file. Deno reads it, and not OpenCV, because native code ignores Deno's permissions.
 * @throws {PermissionError} if Deno may not read it.
 * @throws {ArgumentError} if there is no such regular file, it is too long, or it cannot be read.
 */
export function readImage(filename: string): Uint8Array<ArrayBuffer> {
  return asked(about("read", filename), (path) => readRegularFile(path, MAX_INT));
}

/**
 * Writes an image file, whole or not at all.
 * @throws {PermissionError} if Deno may not write it.
 * @throws {ArgumentError} if it cannot be written; the message says what the path holds now.
 */
export function writeImage(filename: string, bytes: Uint8Array): void {
  asked(about("write", filename), (path) => writeRegularFile(path, bytes));
}

export function pathIn(given: unknown, argument = "filename"): string {
  return corePathIn({ api: "opencv", argument, given });
}

function about(what: "read" | "write", given: unknown) {
  return { api: "opencv", argument: "filename", what, given };
}
