import type { CxxAbi } from "../../ffi/cxxabi/functions.ts";
import { SYMBOLS } from "../../ffi/cxxabi/symbols.ts";
import { lazyLibrary } from "../core/native/library.ts";

/** The C++ runtime, the same that the guard's images need: its handlers of exceptions, opened on the first call. */
export const cxxabi: () => CxxAbi = lazyLibrary<CxxAbi>({
  api: "cxxabi",
  candidates: ["libstdc++.so.6"],
  symbols: SYMBOLS,
  hint: "Install it: apt install libstdc++6.",
});
