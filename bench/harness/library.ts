import type { Operation } from "./operation.ts";
import { type Command, Missing } from "./program.ts";

const SYMBOLS = {
  bench_open: { parameters: ["i32", "buffer"], result: "i32" },
  bench_set_up: { parameters: ["buffer"], result: "i32" },
  bench_prepare: { parameters: ["i32"], result: "void" },
  bench_run: { parameters: ["i32", "i32"], result: "void" },
  bench_settle: { parameters: ["i32"], result: "void" },
} as const;

type Library = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

/** Those that are open; they stay so until the process ends. */
const opened = new Map<string, Library>();

/**
 * An operation of a source of c or cpp that was built as a library (c/serve.h), with the arguments of its program.
 *
 * @throws {Missing} where what it needs is not on this machine.
 */
export function openLibrary({ path, args }: Command, operation: string): Operation {
  const key = JSON.stringify([path, args]);
  let library = opened.get(key);
  if (library === undefined) opened.set(key, library = open(path, args));
  const index = library.bench_set_up(cString(operation));
  if (index < 0) throw new Missing(`${path} has no ${operation} here`);
  const { bench_prepare, bench_run, bench_settle } = library;
  return {
    prepare: () => bench_prepare(index),
    run: (count) => bench_run(index, count),
    settle: () => bench_settle(index),
  };
}

function open(path: string, args: readonly string[]): Library {
  const { symbols } = Deno.dlopen(`${path}.so`, SYMBOLS);
  const texts = [path, ...args].map(cString);
  const addresses = texts.map((text) => Deno.UnsafePointer.value(Deno.UnsafePointer.of(text)));
  const code = symbols.bench_open(texts.length, BigUint64Array.of(...addresses, 0n));
  if (code !== 0) throw new Missing(`${path} ended with ${code}`);
  return symbols;
}

function cString(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}
