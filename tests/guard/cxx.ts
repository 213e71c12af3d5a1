/**
 * C++ libraries that a test compiles.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";

const MISSING = runs("g++") ? undefined : "g++";

function runs(tool: string): boolean {
  try {
    return new Deno.Command(tool, { args: ["--version"], stdout: "null", stderr: "null" }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Registers a test of the guard, ignored and named so where there is no compiler, or the processor is another. */
export function guardTest(name: string, fn: () => void | Promise<void>): void {
  const needs = Deno.build.arch === "x86_64" ? MISSING : "x86-64";
  Deno.test({
    name: needs === undefined ? name : `${name} (skipped: needs ${needs})`,
    ignore: needs !== undefined,
    fn,
  });
}

/** The file that most tests call, compiled once a process. */
export const throwing: () => Promise<string> = once(() => compileFile("throwing.cpp", "WHICH=0"));

/** Compiles a file of this folder. */
export async function compileFile(file: string, ...defines: readonly string[]): Promise<string> {
  return await compile(fromFileUrl(new URL(file, import.meta.url)), ...defines.map((define) => `-D${define}`));
}

/** Compiles a C++ text. */
export async function compileText(text: string): Promise<string> {
  const file = `${await Deno.makeTempDir({ prefix: "samepage-cxx-" })}/text.cpp`;
  await Deno.writeTextFile(file, text);
  return await compile(file);
}

/** Compiles a file. The library stays loaded to the end, so it is left to the system's cleaning of /tmp. */
export async function compile(file: string, ...flags: readonly string[]): Promise<string> {
  const library = await Deno.makeTempFile({ prefix: "samepage-cxx-", suffix: ".so" });
  const args = ["-O2", "-Wall", "-std=c++17", "-shared", "-fPIC", "-o", library, file, ...flags];
  const { success, stderr } = await new Deno.Command("g++", { args }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return library;
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => made ??= make();
}

/** The functions of throwing.cpp. */
export const THROWING = {
  throwAs: { parameters: ["i32"], result: "i32" },
  throwFrom: { parameters: ["i32"], result: "void" },
  throwDouble: { parameters: ["f64"], result: "f64" },
  takeDestroyed: { parameters: [], result: "i32" },
  countAlive: { parameters: [], result: "i32" },
  which: { parameters: [], result: "i32" },
  throwWhich: { parameters: [], result: "void" },
  nested: { parameters: ["i32"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

/** The same, typed. */
export interface Throwing {
  throwAs(how: number): number;
  throwFrom(depth: number): void;
  throwDouble(x: number): number;
  takeDestroyed(): number;
  countAlive(): number;
  which(): number;
  throwWhich(): void;
  nested(how: number): number;
}
