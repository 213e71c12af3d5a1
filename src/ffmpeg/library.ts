import { NULL } from "../../ffi/address.ts";
import type { AVUtil } from "../../ffi/avutil57/functions.ts";
import { SYMBOLS } from "../../ffi/avutil57/symbols.ts";
import type { AVHWContext } from "../../ffi/avhwcontext57/functions.ts";
import { SYMBOLS as HARDWARE } from "../../ffi/avhwcontext57/symbols.ts";
import { ENOMEM } from "../../ffi/libc/errors.ts";
import { Checks } from "../core/checks.ts";
import { InteropError } from "../core/errors.ts";
import { type Check, checkOf, type ErrorMaker, type Made, madeOf } from "../core/native/codes.ts";
import { errnoError, keptLibrary } from "../core/native/libc.ts";
import { libraryPaths } from "../core/native/library.ts";
import { type Structs, VERSIONS } from "./versions.ts";

export const checks: Checks = new Checks("ffmpeg");

const INSTALL = `Install FFmpeg ${releases()}: apt install libavutil57.`;

type Functions = AVUtil & AVHWContext;

const opened = keptLibrary<Functions>({
  api: "ffmpeg",
  candidates: [...VERSIONS.keys()].flatMap((major) => libraryPaths(`libavutil.so.${major}`)),
  symbols: { ...SYMBOLS, ...HARDWARE },
  hint: INSTALL,
});

/** libavutil, and how its version lays structs out. @throws {InteropError} for a version that samepage does not know. */
export function avutil(): { readonly fns: Functions; readonly structs: Structs } {
  return known ??= { fns: opened(), structs: structsOf(opened().avutil_version() >>> 16) };
}

let known: { readonly fns: Functions; readonly structs: Structs } | undefined;

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

/** An AVERROR is an errno below zero. */
export const failed: ErrorMaker = (code, fn, fields) => errnoError("ffmpeg", -code, fn, {}, fields);

export const check: Check = checkOf(failed);

/** Null means that there is no memory. */
export const made: Made = madeOf(check, (object) => object === NULL ? -ENOMEM : 0);
