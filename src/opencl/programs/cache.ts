import { shown } from "../../core/argument.ts";
import { ArgumentError, messageOf, PermissionError } from "../../core/errors.ts";
import { isMissing, readRegularFile } from "../../core/files.ts";
import { warn } from "../../core/warn.ts";
import { assertText } from "../check.ts";
import { crc32, fnv1a } from "../../envelope/checksum.ts";
import type { OpenCLDevice } from "../device.ts";
import { identityOf } from "../devices/identity.ts";

/**
 * Where built programs are kept. A `Map` is one. What it answers is checked: a damaged binary, one of another device or
 * driver, or of another source is built anew.
 */
export interface ProgramCache {
  /** What was kept under a key; undefined if nothing was. */
  get(key: string): Uint8Array | undefined;
  /** Keeps a program's binary. */
  set(key: string, binary: Uint8Array<ArrayBuffer>): unknown;
}

/** The most bytes that are read of a program: binaries are a thousand times smaller. */
const LONGEST = 2 ** 28;

/** What a program is kept under: letters, digits and dashes. */
export function cacheKey(devices: readonly OpenCLDevice[], options: string, source: string): string {
  const text = new TextEncoder().encode(JSON.stringify([devices.map(identityOf), options, source]));
  return [text.length, crc32(text), fnv1a(text)].map((number) => number.toString(16).padStart(8, "0")).join("-");
}

/**
 * True if a source says all that it is made of: what it includes may change, and nobody would know. Lines that go on
 * after a backslash are one line.
 */
export function isWhole(options: string, source: string): boolean {
  const includes = /(?:#|%:|\?\?=)(?:\s|\/\*[\s\S]*?\*\/)*(?:include|import|embed)/;
  return !/(?<!\S)-(?:I|include)/.test(options) && !includes.test(source.replaceAll(/(?:\\|\?\?\/)\r?\n/g, ""));
}

/**
 * Keeps built programs in a folder, one file each; it is made where there is none. What is damaged, or cannot be read,
 * counts as not there, and what cannot be written is not kept: either with a warning. Whoever may write into the folder
 * decides what your kernels do: choose one that is yours alone.
 *
 * Needs `--allow-read` and `--allow-write` of the folder.
 *
 * @throws {ArgumentError} for what is no path.
 *
 * @example
 * ```ts
 * import { directoryCache, OpenCLContext } from "@samepage/interop/opencl";
 *
 * const folder = Deno.makeTempDirSync();
 * using cl = OpenCLContext.open();
 * for (const turn of ["built", "read"]) {
 *   using program = cl.program("kernel void k(global int* x) { x[0] = 1; }", { cache: directoryCache(folder) });
 *   console.log(turn, program.kernelNames);
 * }
 * Deno.removeSync(folder, { recursive: true });
 * ```
 */
export function directoryCache(path: string): ProgramCache {
  assertText(path, "path");
  if (path === "" || path.includes("\0")) {
    throw new ArgumentError("path: it is none.", { api: "opencl", argument: "path" });
  }
  return {
    get: (key) => {
      const file = fileIn(path, key);
      return attempt(`reading ${shown(file)}`, "read", path, () => {
        try {
          return readRegularFile(file, LONGEST);
        } catch (error) {
          if (isMissing(error)) return undefined;
          throw error;
        }
      });
    },
    set: (key, binary) => {
      const file = fileIn(path, key);
      // Others see the whole file or none: a program may end in the middle.
      const unfinished = `${file}.${crypto.randomUUID()}`;
      attempt(`writing ${shown(file)}`, "write", path, () => {
        Deno.mkdirSync(path, { recursive: true });
        try {
          Deno.writeFileSync(unfinished, binary, { createNew: true });
          Deno.renameSync(unfinished, file);
        } catch (error) {
          removeIfThere(unfinished);
          throw error;
        }
      });
    },
  };
}

function fileIn(path: string, key: string): string {
  assertText(key, "key");
  if (/^[\w-]+$/.test(key)) return `${path}/${key}.clbin`;
  throw new ArgumentError("key: it is to be letters, digits and dashes.", { api: "opencl", argument: "key" });
}

/** A folder that fails is a slower start, and no reason to fail; a permission is the caller's to give. */
function attempt<T>(doing: string, what: "read" | "write", path: string, action: () => T): T | undefined {
  try {
    return action();
  } catch (cause) {
    if (cause instanceof Deno.errors.NotCapable) {
      const flag = `--allow-${what}`;
      throw new PermissionError(`Deno does not permit ${doing}.`, flag, {
        api: "opencl",
        cause,
        hint: `Run with --allow-read=${shown(path)} --allow-write=${shown(path)}.`,
      });
    }
    warn(`the cache of built programs failed ${doing}: ${shown(messageOf(cause))}`);
    return undefined;
  }
}

function removeIfThere(file: string): void {
  try {
    Deno.removeSync(file);
  } catch {
    // It was not made, or its folder is gone.
  }
}
