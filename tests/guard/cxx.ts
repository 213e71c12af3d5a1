/**
 * C++ libraries that a test compiles.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { hashOf, keptLibrary } from "./kept_library.ts";

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
  return await build(["-"], text);
}

/** Compiles a file. */
export async function compile(file: string, ...flags: readonly string[]): Promise<string> {
  return await build([file, ...flags]);
}

/** Git ignores it. */
const FOLDER = fromFileUrl(new URL("../../out/cxx", import.meta.url));

const FLAGS = ["-O2", "-Wall", "-std=c++17", "-shared", "-fPIC"];

/**
 * Compiles a library, or finds it where an earlier run has compiled the same: a library stays loaded to its process's end,
 * which nothing can clean up behind. The key covers the compiler, the flags, and the source with all that it includes.
 */
async function build(args: readonly string[], text: string = ""): Promise<string> {
  const source = await gxx([...FLAGS, "-E", "-x", "c++", ...args], text);
  const key = await hashOf(JSON.stringify([await gxx(["--version"]), FLAGS, args.slice(1), source]));
  return await keptLibrary(FOLDER, key, async (path) => {
    await gxx([...FLAGS, "-o", path, "-x", "c++-cpp-output", "-", ...args.slice(1)], source);
  });
}

/** What the compiler prints. @throws {Error} with its words, if it refuses. */
async function gxx(args: readonly string[], input: string = ""): Promise<string> {
  const child = new Deno.Command("g++", { args: [...args], stdin: "piped", stdout: "piped", stderr: "piped" }).spawn();
  const [{ success, stdout, stderr }] = await Promise.all([
    child.output(),
    new Blob([input]).stream().pipeTo(child.stdin),
  ]);
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
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
