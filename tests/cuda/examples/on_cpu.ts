/**
 * The examples' kernels, compiled as C++ for the CPU.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { compile } from "../../guard/cxx.ts";

/** What a kernel is passed: memory for a pointer, a number for an int. */
export type Argument = ArrayBufferView<ArrayBuffer> | number;

/** Runs a kernel over a grid of blocks. */
export type Run = (
  name: string,
  grid: readonly [number, number],
  block: readonly [number, number],
  args: readonly Argument[],
) => void;

const SYMBOLS = {
  run_kernel: { parameters: ["buffer", "u32", "u32", "u32", "u32", "buffer"], result: "i32" },
} as const;

let compiled: Promise<Run> | undefined;

/** Compiles them, once a process. */
export function kernelsOnCpu(): Promise<Run> {
  return compiled ??= compiledKernels();
}

async function compiledKernels(): Promise<Run> {
  const path = await compile(fromFileUrl(new URL("kernels.cpp", import.meta.url)), "-pthread");
  const { symbols } = Deno.dlopen(path, SYMBOLS);
  return (name, grid, block, args) => {
    const values = BigUint64Array.from(args, (arg) => typeof arg === "number" ? BigInt(arg) : addressOf(arg));
    const places = values.map((_, i) => addressOf(values) + BigInt(8 * i));
    const known = symbols.run_kernel(new TextEncoder().encode(`${name}\0`), ...grid, ...block, places);
    if (known === 0) throw new Error(`there is no kernel ${name}`);
  };
}

function addressOf(memory: ArrayBufferView<ArrayBuffer>): bigint {
  return Deno.UnsafePointer.value(Deno.UnsafePointer.of(memory));
}
