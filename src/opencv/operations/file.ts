import { literal, shown } from "../../core/argument.ts";
import { ArgumentError, messageOf, PermissionError } from "../../core/errors.ts";
import { readRegularFile, writeRegularFile } from "../../core/files.ts";
import { wrong } from "../errors.ts";
import { MOST_INT } from "../type.ts";

/**
 * The bytes of an image file. Deno reads it, and not OpenCV, because native code ignores Deno's permissions.
 * @throws {PermissionError} if Deno may not read it.
 * @throws {ArgumentError} if there is no such regular file, it is too long, or it cannot be read.
 */
export function readImage(filename: string): Uint8Array<ArrayBuffer> {
  const path = pathIn(filename);
  return asked("read", path, () => readRegularFile(path, MOST_INT));
}

/**
 * Writes an image file, whole or not at all.
 * @throws {PermissionError} if Deno may not write it.
 * @throws {ArgumentError} if it cannot be written; the message says what is left of it.
 */
export function writeImage(filename: string, bytes: Uint8Array): void {
  const path = pathIn(filename);
  asked("write", path, () => writeRegularFile(path, bytes));
}

/** A path that a program gave. It has no zero byte: C would end it there, and open another file than Deno checked. */
export function pathIn(given: unknown, argument = "filename"): string {
  if (typeof given === "string" && given !== "" && !given.includes("\0")) return given;
  throw wrong(argument, `expected a path, got ${literal(given)}.`);
}

function asked<R>(what: "read" | "write", path: string, ask: () => R): R {
  try {
    return ask();
  } catch (cause) {
    const fields = { api: "opencv", argument: "filename", cause };
    if (cause instanceof Deno.errors.NotCapable) {
      const flag = `--allow-${what}=${path}`;
      throw new PermissionError(`Deno does not permit to ${what} ${shown(path)}.`, flag, {
        ...fields,
        hint: `Run with --allow-${what}=${shown(path)}.`,
      });
    }
    throw new ArgumentError(
      `filename: ${shown(path)} cannot be ${what === "read" ? "read" : "written"}: ${shown(messageOf(cause))}.`,
      fields,
    );
  }
}
