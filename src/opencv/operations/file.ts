import { shown } from "../../core/argument.ts";
import { ArgumentError, messageOf, PermissionError } from "../../core/errors.ts";
import { wrong } from "../errors.ts";

/**
 * Asks Deno about a file that OpenCV is to read: native code is not held back by Deno's permissions, so they are asked
 * about here, as `Deno.readFile` does.
 *
 * @throws {PermissionError} where Deno may not read it.
 * @throws {ArgumentError} where there is no such file, or it cannot be read.
 */
export function assertReadable(filename: string): void {
  const path = pathIn(filename);
  const { isFile } = asked("read", path, () => Deno.statSync(path));
  if (!isFile) throw wrong("filename", `${shown(path)} is no file.`);
  asked("read", path, () => Deno.openSync(path).close());
}

/**
 * The same of a file that OpenCV is to write. Where there was none, there is an empty one afterwards.
 *
 * @throws {PermissionError} where Deno may not write it.
 * @throws {ArgumentError} where it cannot be written.
 */
export function assertWritable(filename: string): void {
  const path = pathIn(filename);
  asked("write", path, () => Deno.openSync(path, { append: true, create: true }).close());
}

/** A path that a program gave. C ends it at a zero: what is asked about would not be what is opened. */
export function pathIn(given: unknown, argument = "filename"): string {
  if (typeof given === "string" && given !== "" && !given.includes("\0")) return given;
  throw wrong(argument, `${shown(given)} is no path.`);
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
