// Runs the suite over every edge of this machine: `deno task conformance`; `--help` lists the options.

import { CASES, casesOf } from "./cases/mod.ts";
import { API_NAMES, edgesOf } from "./edges.ts";
import { commit } from "../../bench/report/machine.ts";
import { fileOf } from "./results.ts";
import { type Row, rowsOf, type Where } from "./rows.ts";
import type { Subject } from "./subject.ts";
import { Watch } from "./watch.ts";

const HELP = `Runs the conformance suite over every edge of this machine.

Usage: deno task conformance [--full] [--json] [--where=gpu] [--only=opencl,svm] [--case=frame] [--expect=migrate] [--keep=intel-sycl --machine="Intel's CPU driver 2026.2"]

Each edge runs the cases that the tests run. A line is printed for each row; the exit code is 1 where a row fails.

  --full         every case
  --json         an array of rows, and the lines on stderr
  --where=name   the kind of machine: bare, guest or gpu
  --only=a,b     the edges of these APIs
  --case=begin   only the cases whose names begin so, on every edge
  --keep=name    write the rows to tests/conformance/results/<name>.json; --machine says what they ran on
  --expect=name  fail where an edge from the host is not alias, migrate or copy, as named`;

const MARKS = { "pass": "✓", "fail": "✗", "not-here": "–" };

function options<T extends string>(name: string, values: readonly T[]): T[] | undefined {
  const given = Deno.args.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3).split(",");
  const wrong = given?.find((value) => !values.includes(value as T));
  if (wrong === undefined) return given as T[] | undefined;
  console.error(`--${name}= is one of ${values.join(", ")}, not ${wrong}`);
  Deno.exit(2);
}

function option<T extends string>(name: string, values: readonly T[]): T | undefined {
  return options(name, values)?.[0];
}

function textOf(name: string): string | undefined {
  return Deno.args.find((arg) => arg.startsWith(`--${name}=`))?.slice(`--${name}=`.length);
}

function show({ edge, device, case: name, result, reason }: Row): void {
  const where = device === undefined ? edge : `${edge} (${device})`;
  const line = `${MARKS[result]} ${where}  ${name}${reason === undefined ? "" : `: ${reason}`}`;
  // A run that is stopped shows by these lines where it was.
  if (json) console.error(`${(performance.now() / 1000).toFixed(0).padStart(4)} s  ${line}`);
  else console.log(line);
}

if (Deno.args.includes("--help")) {
  console.log(HELP);
  Deno.exit(0);
}
const where = option<Where>("where", ["bare", "guest", "gpu"]) ?? "bare";
const only = options("only", API_NAMES) ?? API_NAMES;
const begin = textOf("case");
const asked = CASES.filter(({ name }) => name.startsWith(begin ?? ""));
if (asked.length === 0) {
  console.error(`--case= is the beginning of one of ${CASES.map(({ name }) => name).join(", ")}, not ${begin}`);
  Deno.exit(2);
}
const isFull = Deno.args.includes("--full") || begin !== undefined;
const expected = option<Subject["expected"]>("expect", ["alias", "migrate", "copy"]);
const json = Deno.args.includes("--json");

// rusticl has no device unless it is asked for one.
if (Deno.env.get("RUSTICL_ENABLE") === undefined) Deno.env.set("RUSTICL_ENABLE", "llvmpipe");

const watch = await Watch.start();
const rows: Row[] = [];
for await (
  const row of rowsOf(
    edgesOf(only, expected),
    where,
    (candidate) => watch.over(candidate, casesOf(candidate, where, isFull ? asked : undefined)),
  )
) {
  rows.push(row);
  show(row);
}
const keep = textOf("keep");
if (keep !== undefined) {
  const command = `deno task conformance ${Deno.args.filter((arg) => !/^--(keep|machine)=/.test(arg)).join(" ")}`;
  const heading = { commit: await commit(), machine: textOf("machine") ?? "this machine", command };
  await Deno.writeTextFile(new URL(`results/${keep}.json`, import.meta.url), fileOf(heading, rows));
}
const count = (result: Row["result"]) => rows.filter((row) => row.result === result).length;
if (json) console.log(JSON.stringify(rows, null, 2));
else console.log(`\n${count("pass")} pass, ${count("fail")} fail, ${count("not-here")} not here`);
Deno.exit(count("fail") > 0 ? 1 : 0);
