import type { Sockets } from "../../ffi/channel/functions.ts";
import { SYMBOLS } from "../../ffi/channel/symbols.ts";
import type { NativeCallError } from "../core/errors.ts";
import { type Hints, libcError, partOfLibc } from "../core/native/libc.ts";

export const sockets: () => Sockets = partOfLibc<Sockets>("channel", SYMBOLS);

/** Makes the error of a function that has just returned -1: before any other native call, which would change errno. */
export function socketError(fn: string, hints?: Hints): NativeCallError {
  return libcError(fn, hints, "channel");
}
