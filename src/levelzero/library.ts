import type { LevelZero } from "../../ffi/levelzero/functions.ts";
import { Checks } from "../core/checks.ts";
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
