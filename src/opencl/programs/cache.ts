import { literal, shown } from "../../core/argument.ts";
import { messageOf, PermissionError, warn } from "../../core/errors.ts";
import { isMissing, readRegularFile } from "../../core/files.ts";
import { checks } from "../check.ts";
import { crc32, fnv1a } from "../../envelope/checksum.ts";
import type { OpenCLDevice } from "../device.ts";
import { identityOf } from "../devices/identity.ts";

/** A cache of built programs, such as a `Map`. A damaged binary, or one of another driver or source, is built again. */
export interface ProgramCache {
  /** The binary under a key; undefined if the cache has no such key. */
  get(key: string): Uint8Array | undefined;
  /** Keeps a program's binary. */
  set(key: string, binary: Uint8Array<ArrayBuffer>): unknown;
}

/** Binaries are a thousand times smaller. */
const LONGEST = 2 ** 28;

export function cacheKey(devices: readonly OpenCLDevice[], options: string, source: string): string {
  const text = new TextEncoder().encode(JSON.stringify([devices.map(identityOf), options, source]));
  return [text.length, crc32(text), fnv1a(text)].map((number) => number.toString(16).padStart(8, "0")).join("-");
}

/** An included file could change unnoticed. Lines continued by a backslash are one line. */
export function isWhole(options: string, source: string): boolean {
  const includes = /(?:#|%:|\?\?=)(?:\s|\/\*[\s\S]*?\*\/)*(?:include|import|embed)/;
  return !/(?<!\S)-(?:I|include)/.test(options) && !includes.test(source.replaceAll(/(?:\\|\?\?\/)\r?\n/g, ""));
}

/**
 * Keeps built programs in a folder, one file each. It makes the folder if it does not exist. A file that is damaged or
 * cannot be read counts as missing; a program that cannot be written is not kept. Read and write failures are warned of.
 * Anybody who can write to the folder can change your kernels: choose a private one.
 *
 * Needs `--allow-read` and `--allow-write` of the folder.
 *
 * @throws {ArgumentError} if `path` is not a path.
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
  checks.assertText(path, "path");
  if (path === "") throw checks.wrong("path", `expected a path, got ${literal(path)}.`);
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
      // Renamed at the end, so that no reader finds half a file.
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
  checks.assertText(key, "key");
  if (/^[\w-]+$/.test(key)) return `${path}/${key}.clbin`;
  const what = `expected letters, digits and dashes, got ${literal(key)}.`;
  throw checks.wrong("key", what);
}

/** Warns if the folder fails, which only slows the start; throws for a missing permission. */
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
    // The file was not made, or its folder is gone.
  }
}
