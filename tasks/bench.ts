// Measures samepage beside C and other peers: `deno task bench [--only=map] [--rounds=21] [--smoke] [--json]`.
//
// Every bench file has a process of its own. Within it, batches of all ways of a figure run in turn (bench/README.md).

import { basename, fromFileUrl, join } from "@std/path";
import { build } from "../bench/harness/c.ts";
import { describeMachine } from "../bench/harness/machine.ts";
import type { Effort } from "../bench/harness/measure.ts";
import type { Result } from "../bench/harness/result.ts";
import { HEADING, rowsOf } from "../bench/harness/table.ts";

const BENCH = fromFileUrl(new URL("../bench", import.meta.url));

const option = (name: string) => Deno.args.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
const isSmoke = Deno.args.includes("--smoke");
const asJson = Deno.args.includes("--json");
const only = option("only") ?? "";
const effort: Effort = {
  rounds: Number(option("rounds") ?? (isSmoke ? 2 : 21)),
  batchMs: isSmoke ? 1 : 40,
  repeats: isSmoke ? 1000 : 1e6,
};

/** Measures the figures of one file, and prints them as they come. */
async function measureFile(file: string): Promise<Result[]> {
  const runFile = join(BENCH, "harness", "run_file.ts");
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--v8-flags=--expose-gc", runFile, file, JSON.stringify(effort), only],
    stderr: "inherit",
  }).output();
  const results = new TextDecoder().decode(stdout).trim().split("\n").filter((line) => line !== "")
    .map((line): Result => JSON.parse(line));
  if (!asJson) console.log(results.flatMap((r) => "figure" in r ? rowsOf(r.figure) : JSON.stringify(r)).join("\n"));
  return results;
}

const machine = await describeMachine();
await build();
const files = [...Deno.readDirSync(BENCH)].map(({ name }) => name).filter((name) => name.endsWith("_bench.ts")).sort();
if (!asJson) console.log(HEADING);
const results: Result[] = [];
for (const file of files) results.push(...await measureFile(join(BENCH, basename(file))));
if (asJson) console.log(JSON.stringify({ machine, results }, null, 2));
Deno.exit(0);
