import type { Address } from "../../ffi/address.ts";
import * as status from "../../ffi/ucx/errors.ts";
import type { UCP } from "../../ffi/ucx/functions.ts";
import { SYMBOLS } from "../../ffi/ucx/symbols.ts";
import { Checks } from "../core/checks.ts";
import { thenUndo } from "../core/life/undo.ts";
import { type Check, checkOf, type ErrorMaker, errorOf, type MadeAt, madeAtOf } from "../core/native/codes.ts";
import { keptLibrary, libc } from "../core/native/libc.ts";
import { libraryPaths, type Link } from "../core/native/library.ts";
import { bytesAt } from "../core/native/pin.ts";
import { cString } from "../core/native/text.ts";

export const API = "ucx";

export const checks: Checks = new Checks(API);

/**
 * What UCX reads of the environment as it loads. It would patch munmap() to see memory go, catch the signals that are
 * Deno's, and start a thread for a file system of its own. Without error handling, its shared memory does not notice that a
 * process has died. Over tcp, it sends a frame in segments, each by one call: with its default of 64 KiB, that takes a quarter longer.
 */
const SETTINGS = {
  UCX_MEM_EVENTS: "n",
  UCX_HANDLE_ERRORS: "none",
  UCX_VFS_ENABLE: "n",
  UCX_LOG_LEVEL: "fatal", // what it would print is in our errors
  UCX_POSIX_ERROR_HANDLING: "y",
  UCX_SYSV_ERROR_HANDLING: "y",
  UCX_TCP_TX_SEG_SIZE: "256k",
  UCX_TCP_RX_SEG_SIZE: "256k",
};

/** What the program's own environment says is left as it is. */
const openWithSettings: Link = (path, symbols) => {
  for (const [name, value] of Object.entries(SETTINGS)) libc().setenv(cString(name), cString(value), 0);
  return Deno.dlopen(path, symbols).symbols;
};

export const ucp: () => UCP = keptLibrary<UCP>({
  api: API,
  candidates: libraryPaths("libucp.so.0", "libucp.so"),
  symbols: SYMBOLS,
  hint: "Install UCX 1.13 or newer: apt install libucx0.",
  link: openWithSettings,
});

const HINTS: ReadonlyMap<number, string> = new Map([
  [
    status.UCS_ERR_UNREACHABLE,
    "Both sides need a transport in common. Each has its loopback device alone, unless it passes devices.",
  ],
  [status.UCS_ERR_CANCELED, "The other side did not reply in time, or this side has ended the connection."],
  [
    status.UCS_ERR_TIMED_OUT,
    "The other side hangs, its event loop does not turn, or it has ended its share: connect to it again.",
  ],
  [status.UCS_ERR_CONNECTION_RESET, "The other side has ended: connect to it again."],
  [status.UCS_ERR_ENDPOINT_TIMEOUT, "The other side has ended, or the network is down: connect to it again."],
]);

export const ucxError: ErrorMaker = errorOf({
  api: API,
  names: status.ERROR_NAMES,
  unknown: "a code that UCX does not know",
  hints: HINTS,
});

export const check: Check = checkOf(ucxError);

export const made: MadeAt = madeAtOf(check);

/** Bytes that UCX packs for others, and takes back. */
export function packedBy(
  fn: string,
  pack: (out: BigUint64Array<ArrayBuffer>, length: BigUint64Array<ArrayBuffer>) => number,
  release: (at: Address) => void,
): Uint8Array<ArrayBuffer> {
  const length = new BigUint64Array(1);
  const at = made<Address>(fn, (out) => pack(out, length));
  return thenUndo(`reading what ${fn} returned`, (undo) => bytesAt(at, Number(length[0]), API, undo).slice(), [
    () => release(at),
  ]);
}
