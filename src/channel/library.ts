import type { Sockets } from "../../ffi/channel/functions.ts";
import { SYMBOLS } from "../../ffi/channel/symbols.ts";
import type { NativeCallError } from "../core/errors.ts";
import { type Hints, libcError, partOfLibc } from "../core/native/libc.ts";

/** The C library's sockets. */
export const sockets: () => Sockets = partOfLibc<Sockets>("channel", SYMBOLS);

/** The error of a function that has just returned -1. To be made before any other native call. */
export function socketError(fn: string, hints?: Hints): NativeCallError {
  return libcError(fn, hints, "channel");
}
