import type { Sockets } from "../../ffi/channel/functions.ts";
import { SYMBOLS } from "../../ffi/channel/symbols.ts";
import type { NativeCallError } from "../core/errors.ts";
import { type Hints, libc, libcError } from "../core/native/libc.ts";
import { lazyLibrary } from "../core/native/library.ts";

const opened = lazyLibrary<Sockets>({
  api: "channel",
  candidates: ["libc.so.6", "libc.so"],
  symbols: SYMBOLS,
  hint: "samepage needs Linux with glibc.",
});

/** The C library's sockets, opened on the first call. */
export function sockets(): Sockets {
  libc(); // finds errno before anything fails
  return opened();
}

/** The error of a function that has just returned -1. To be made before any other native call. */
export function socketError(fn: string, hints?: Hints): NativeCallError {
  return libcError(fn, hints, "channel");
}
