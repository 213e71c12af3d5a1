import * as ze from "../../ffi/levelzero/errors.ts";
import type { LevelZero } from "../../ffi/levelzero/functions.ts";
import { Checks } from "../core/checks.ts";
import { type Check, checkOf, type ErrorMaker, errorOf, type MadeAt, madeAtOf } from "../core/native/codes.ts";
import { keptLibrary } from "../core/native/libc.ts";
import { libraryPaths } from "../core/native/library.ts";
import { SYMBOLS } from "../../ffi/levelzero/symbols.ts";

export const checks: Checks = new Checks("levelzero");

export const levelZero: () => LevelZero = keptLibrary<LevelZero>({
  api: "levelzero",
  candidates: libraryPaths("libze_loader.so.1", "libze_loader.so"),
  symbols: SYMBOLS,
  hint: "Install the loader: apt install libze1.",
});

const HINTS: ReadonlyMap<number, string> = new Map([
  [ze.ZE_RESULT_ERROR_UNINITIALIZED, "The loader has found no driver: Intel's is libze_intel_gpu.so.1."],
  [ze.ZE_RESULT_ERROR_DEVICE_LOST, "The device hung, was reset or was removed: start the process again."],
  [ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "The device has not that much memory left."],
  [ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "The driver could not allocate memory of its own."],
]);

export const levelZeroError: ErrorMaker = errorOf({
  api: "levelzero",
  names: ze.ERROR_NAMES,
  unknown: "a code that Level Zero does not know",
  hints: HINTS,
  written: (code) => `0x${(code >>> 0).toString(16)}`,
});

export const check: Check = checkOf(levelZeroError);

export const made: MadeAt = madeAtOf(check);
