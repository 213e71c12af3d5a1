import { includes, type Target, targetFlags } from "../../ffi/generate/clang.ts";
import type { Library } from "../../ffi/generate/library.ts";
import type { Claim } from "./claims.ts";

/** Compiles and runs a C program on this machine that prints each expression; returns the claims it contradicts. */
export async function contradictedHere(library: Library, claims: readonly Claim[]): Promise<string[]> {
  const prints = claims.map(({ expression }) => `  printf("%lld\\n", (long long) (${expression}));`);
  const source = `${includes(library)}#include <stdio.h>\nint main(void) {\n${prints.join("\n")}\n  return 0;\n}\n`;
  const folder = await Deno.makeTempDir({ prefix: "samepage-abi-" });
  try {
    await Deno.writeTextFile(`${folder}/abi.c`, source);
    const compiled = await run("cc", ["-w", "-o", `${folder}/abi`, `${folder}/abi.c`]);
    if (!compiled.success) throw new Error(compiled.stderr);
    const values = (await run(`${folder}/abi`, [])).stdout.trim().split("\n").map(BigInt);
    return claims.filter(({ value }, i) => BigInt.asIntN(64, value) !== values[i]).map(({ expression }) => expression);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Compiles, for any target, one static assertion a claim; returns the claims that fail. Nothing is run. */
export async function contradictedOn(target: Target, library: Library, claims: readonly Claim[]): Promise<string[]> {
  const assertions = claims.map(({ expression, value }) => ({
    name: expression,
    // The conditional lets clang fold pointers too, such as MAP_FAILED's.
    condition: `__builtin_constant_p(${expression}) ? (long long) (${expression}) == ${literal(value)} : 0`,
  }));
  return await failingAssertions("clang", ["-x", "c", "-std=c11"], target, library, "", assertions);
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
  compiler: "clang" | "clang++",
  language: readonly string[],
  target: Target,
  library: Library,
  preamble: string,
  assertions: readonly Assertion[],
): Promise<string[]> {
  const keyword = compiler === "clang" ? "_Static_assert" : "static_assert";
  const lines = assertions.map(({ condition }, i) => `${keyword}(${condition}, "claim ${i};");`);
  const file = await Deno.makeTempFile({ suffix: ".txt" });
  try {
    await Deno.writeTextFile(file, [includes(library), preamble, ...lines, ""].join("\n"));
    const flags = ["-fsyntax-only", "-w", "-ferror-limit=0", "-fno-caret-diagnostics"];
    const { success, stderr } = await run(compiler, [...targetFlags(target), ...flags, ...language, file]);
    const failed = [...stderr.matchAll(/error: static.*claim (\d+);/g)].map(([, i]) => assertions[Number(i)].name);
    const errors = stderr.split("\n").filter((line) => line.includes("error:")).length;
    if (errors !== failed.length || success !== (errors === 0)) throw new Error(`${target}: ${stderr}`);
    return failed;
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
