/**
 * What stands for CUDA's functions that make page-locked blocks, as C functions: native code calls them by address.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import type { Address } from "../../ffi/address.ts";
import { HostPool } from "../../src/cuda/memory/host_pool.ts";
import { compile } from "../guard/cxx.ts";

const SYMBOLS = {
  push: { type: "pointer" },
  pop: { type: "pointer" },
  host_alloc: { type: "pointer" },
  host_free: { parameters: ["u64"], result: "void" },
  blocks: { parameters: [], result: "i32" },
  wrong: { parameters: [], result: "i32" },
  refuse: { parameters: ["i32"], result: "void" },
  hold: { parameters: ["i32"], result: "void" },
  making: { parameters: [], result: "i32" },
  churn: { parameters: ["u64", "u64", "i32"], result: "void" },
  churned: { parameters: [], result: "void" },
  take_and_give: { parameters: ["u64", "u64", "i32", "i32"], result: "i32" },
} as const;

const CONTEXT = 0x1234n;
const FLAGS = 5;

/** A pool over them, and what they have seen. */
export async function lockedBlocks() {
  const file = fromFileUrl(new URL("locked_blocks.cpp", import.meta.url));
  const { symbols } = Deno.dlopen(await compile(file), SYMBOLS);
  const at = (pointer: Deno.PointerValue) => BigInt(Deno.UnsafePointer.value(pointer));
  const pool = new HostPool({
    context: CONTEXT,
    flags: FLAGS,
    calls: {
      cuCtxPushCurrent: at(symbols.push),
      cudaHostAlloc: at(symbols.host_alloc),
      cuCtxPopCurrent: at(symbols.pop),
    },
    free: (made: Address) => symbols.host_free(made),
  });
  pool.open = true;
  return { pool, ...symbols };
}
