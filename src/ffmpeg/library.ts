import { type Address, NULL } from "../../ffi/address.ts";
import type { AVUtil } from "../../ffi/avutil57/functions.ts";
import { SYMBOLS } from "../../ffi/avutil57/symbols.ts";
import { ENOMEM } from "../../ffi/libc/errors.ts";
import { Checks } from "../core/checks.ts";
import { InteropError, type NativeCallError } from "../core/errors.ts";
import { errnoError, keptLibrary } from "../core/native/libc.ts";
import { libraryPaths } from "../core/native/library.ts";
import { type Structs, VERSIONS } from "./versions.ts";

export const checks: Checks = new Checks("ffmpeg");

const INSTALL = `Install FFmpeg ${releases()}: apt install libavutil57.`;

const opened = keptLibrary<AVUtil>({
  api: "ffmpeg",
  candidates: [...VERSIONS.keys()].flatMap((major) => libraryPaths(`libavutil.so.${major}`)),
  symbols: SYMBOLS,
  hint: INSTALL,
});

/** libavutil, and how its version lays structs out. @throws {InteropError} for a version that samepage does not know. */
export function avutil(): { readonly fns: AVUtil; readonly structs: Structs } {
  return known ??= { fns: opened(), structs: structsOf(opened().avutil_version() >>> 16) };
}

let known: { readonly fns: AVUtil; readonly structs: Structs } | undefined;

function structsOf(major: number): Structs {
  const structs = VERSIONS.get(major);
  if (structs !== undefined) return structs;
  const majors = [...VERSIONS.keys()].join(", ");
  throw new InteropError(`libavutil has version ${major}, and samepage knows the structs of ${majors}.`, {
    ...{ api: "ffmpeg", fn: "avutil_version" },
    hint: `${INSTALL} Both may be installed: SAMEPAGE_LIB_FFMPEG names the one to open.`,
  });
}

function releases(): string {
  return [...VERSIONS.values()].map(({ release }) => release).join(" or ");
}

/** Throws if a function returned an AVERROR: an errno below zero. */
export function check(returned: number, fn: string): void {
  if (returned < 0) throw ffmpegError(-returned, fn);
}

/** An object that a function made; null means that there is no memory. */
export function made(address: Address, fn: string): Address {
  if (address === NULL) throw ffmpegError(ENOMEM, fn);
  return address;
}

function ffmpegError(code: number, fn: string): NativeCallError {
  return errnoError("ffmpeg", code, fn);
}
