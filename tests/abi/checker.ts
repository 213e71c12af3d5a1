import { includes, type Target, targetFlags } from "../../ffi/generate/clang.ts";
import type { Library } from "../../ffi/generate/library.ts";
import type { Claim } from "./claims.ts";

/** Compiles and runs a C or C++ program on this machine that prints each expression; returns the claims it contradicts. */
export async function contradictedHere(library: Library, claims: readonly Claim[]): Promise<string[]> {
  const prints = claims.map(({ expression }) => `  printf("%lld\\n", (long long) (${expression}));`);
  const source = `${includes(library)}#include <stdalign.h>\n#include <stdio.h>\nint main(void) {\n${
    prints.join("\n")
  }\n  return 0;\n}\n`;
  const folder = await Deno.makeTempDir({ prefix: "samepage-abi-" });
  try {
    await Deno.writeTextFile(`${folder}/abi.txt`, source);
    await compileHere(library, ["-o", `${folder}/abi`, `${folder}/abi.txt`]);
    const values = (await run(`${folder}/abi`, [])).stdout.trim().split("\n").map(BigInt);
    return claims.filter(({ value }, i) => BigInt.asIntN(64, value) !== values[i]).map(({ expression }) => expression);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs this machine's own compiler (gcc, where clang is what generated the files) and returns what it prints. */
export async function compileHere({ cxx, folders = [] }: Library, args: readonly string[]): Promise<string> {
  const flags = folders.flatMap((folder) => ["-isystem", folder]);
  const [compiler, ...language] = cxx ? ["g++", "-fno-access-control", "-x", "c++"] : ["cc", "-x", "c"];
  const { success, stdout, stderr } = await run(compiler, ["-w", ...flags, ...language, ...args]);
  if (!success) throw new Error(stderr);
  return stdout;
}

/** Compiles, for any target, one static assertion a claim; returns the claims that fail. Nothing is run. */
export async function contradictedOn(target: Target, library: Library, claims: readonly Claim[]): Promise<string[]> {
  const assertions = claims.map(({ expression, value }) => ({
    name: expression,
    // The conditional lets clang fold pointers too, such as MAP_FAILED's.
    condition: `__builtin_constant_p(${expression}) ? (long long) (${expression}) == ${literal(value)} : 0`,
  }));
  const [compiler, ...language] = library.cxx
    ? ["clang++", "-x", "c++", "-std=c++14"]
    : ["clang", "-x", "c", "-std=c11"];
  return await failingAssertions(compiler, language, target, library, "#include <stdalign.h>", assertions);
}

/** A value as C writes it: the most negative number has no literal, so negative ones are written as a difference. */
function literal(value: bigint): string {
  const signed = BigInt.asIntN(64, value);
  return signed < 0n ? `(${signed + 1n}LL - 1)` : `${signed}LL`;
}

/** A compile-time condition, and what it is about. */
export interface Assertion {
  /** What is reported where it fails. */
  readonly name: string;
  /** The condition. */
  readonly condition: string;
}

/** Compiles assertions (C11 or C++14) after a library's headers and a preamble; returns the names of those that fail. */
export async function failingAssertions(
  compiler: string,
  language: readonly string[],
  target: Target,
  library: Library,
  preamble: string,
  assertions: readonly Assertion[],
): Promise<string[]> {
  const keyword = compiler === "clang" ? "_Static_assert" : "static_assert";
  const lines = assertions.map(({ condition }, i) => `${keyword}(${condition}, "claim ${i};");`);
  const { success, stderr } = await compile(compiler, language, target, library, [preamble, ...lines]);
  const failed = [...stderr.matchAll(/error: static.*claim (\d+);/g)].map(([, i]) => assertions[Number(i)].name);
  const errors = stderr.split("\n").filter((line) => line.includes("error:")).length;
  if (errors !== failed.length || success !== (errors === 0)) throw new Error(`${target}: ${stderr}`);
  return failed;
}

/** Those of the claims about C that say something of what these headers declare. */
export async function knownTo(target: Target, library: Library, claims: readonly Claim[]): Promise<Claim[]> {
  const lines = claims.map(({ expression }) => `_Static_assert(sizeof(${expression}) > 0, "");`);
  const preamble = ["#include <stdalign.h>", '#line 1 "claims"'];
  const { stderr } = await compile("clang", ["-x", "c", "-std=c11"], target, library, [...preamble, ...lines]);
  const errors = stderr.split("\n").filter((line) => line.includes("error:"));
  const unknown = new Set(errors.map((line) => Number(/^claims:(\d+):/.exec(line)?.[1]) - 1));
  if (unknown.has(NaN)) throw new Error(`${target}: ${stderr}`);
  return claims.filter((_, i) => !unknown.has(i));
}

/** Looks at lines of C or C++ behind a library's headers. */
async function compile(
  compiler: string,
  language: readonly string[],
  target: Target,
  library: Library,
  lines: readonly string[],
): Promise<{ success: boolean; stderr: string }> {
  const file = await Deno.makeTempFile({ suffix: ".txt" });
  try {
    await Deno.writeTextFile(file, [includes(library), ...lines, ""].join("\n"));
    const flags = ["-fsyntax-only", "-w", "-ferror-limit=0", "-fno-caret-diagnostics"];
    return await run(compiler, [...targetFlags(target, library), ...flags, ...language, file]);
  } finally {
    await Deno.remove(file);
  }
}

async function run(command: string, args: string[]): Promise<{ success: boolean; stdout: string; stderr: string }> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args, stdout: "piped", stderr: "piped" })
    .output();
  const decoder = new TextDecoder();
  return { success, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}
