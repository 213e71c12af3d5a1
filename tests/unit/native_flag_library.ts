/**
 * A library of C that calls back on threads of its own.
 *
 * @module
 */
import { buildLibrary } from "../c_library.ts";

const SYMBOLS = {
  call_later: { parameters: ["u64", "u64", "u32"], result: "i32" },
  call_all: { parameters: ["u64", "buffer", "i64"], result: "i32" },
  call_with_more: { parameters: ["u64", "u64"], result: "void" },
  call_with_result: { parameters: ["u64", "u64"], result: "i32" },
  consume: { parameters: ["u64"], result: "i32" },
  let_release: { parameters: [], result: "void" },
} as const;

/** Its functions. */
export type Caller = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

/** Where it is, once it was built. */
const LIBRARY = new URL("../../out/native_flag.so", import.meta.url).pathname; // git ignores it

/** Compiles it. Returns why it cannot. */
export function buildCaller(): Promise<string | undefined> {
  return buildLibrary({ sources: [new URL("native_flag.c", import.meta.url).pathname], library: LIBRARY });
}

/** Opens it. It stays open: its threads may run on. */
export function openCaller(): Caller {
  return Deno.dlopen(LIBRARY, SYMBOLS).symbols;
}
