import { ERROR_NAMES } from "../../../ffi/libc/errors.ts";
import type { LibC } from "../../../ffi/libc/functions.ts";
import { SYMBOLS } from "../../../ffi/libc/symbols.ts";
import { NativeCallError } from "../errors.ts";
import { lazyLibrary } from "./library.ts";

/** The C library, opened on the first call. */
export const libc: () => LibC = lazyLibrary<LibC>({
  api: "libc",
  candidates: ["libc.so.6", "libc.so"],
  symbols: SYMBOLS,
  hint: "samepage needs Linux with glibc.",
});

/** The error of a libc function that has just answered -1. To be made before any other native call. */
export function libcError(fn: string, hint?: string): NativeCallError {
  const code = errno();
  const codeName = ERROR_NAMES.get(code) ?? "unknown error";
  return new NativeCallError(`${fn} failed with ${codeName} (${code}).`, {
    api: "libc",
    fn,
    code,
    codeName,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** The code that the last libc function has left. To be asked before any other native call. */
export function errno(): number {
  const location = Deno.UnsafePointer.create(libc().__errno_location());
  return location === null ? 0 : new Deno.UnsafePointerView(location).getInt32();
}
