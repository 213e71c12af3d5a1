// Runs the suite over every edge of this machine: `deno task conformance [--full] [--json] [--where=gpu] [--only=opencl]`.
//
// Prints a line a row; with --json an array of rows, and the lines on stderr. Each edge runs the cases that the tests
// run, and with `--full` every case. `--only=` names one of the APIs of edges.ts, `--case=` the beginning of a case's
// name, for every edge; `--expect=migrate` fails where an edge from the host says anything else of itself. The exit code
// is 1 where a row fails.

import { CASES, casesOf } from "./cases/mod.ts";
import { API_NAMES, edgesOf } from "./edges.ts";
import { type Row, rowsOf, type Where } from "./rows.ts";
import type { Subject } from "./subject.ts";
import { Watch } from "./watch.ts";

const MARKS = { "pass": "✓", "fail": "✗", "not-here": "–" };

function option<T extends string>(name: string, values: readonly T[]): T | undefined {
  const given = Deno.args.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
  if (given === undefined || values.includes(given as T)) return given as T | undefined;
  console.error(`--${name}= is one of ${values.join(", ")}, not ${given}`);
  Deno.exit(2);
}

function show({ edge, device, case: name, result, reason }: Row): void {
  const where = device === undefined ? edge : `${edge} (${device})`;
  const line = `${MARKS[result]} ${where}  ${name}${reason === undefined ? "" : `: ${reason}`}`;
  // A run that is stopped shows by these lines where it was.
  if (json) console.error(`${(performance.now() / 1000).toFixed(0).padStart(4)} s  ${line}`);
  else console.log(line);
}

const where = option<Where>("where", ["bare", "guest", "gpu"]) ?? "bare";
const only = option("only", API_NAMES);
const begin = Deno.args.find((arg) => arg.startsWith("--case="))?.slice("--case=".length);
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
    edgesOf(only === undefined ? API_NAMES : [only], expected),
    where,
    (candidate) => watch.over(candidate, casesOf(candidate, where, isFull ? asked : undefined)),
  )
) {
  rows.push(row);
  show(row);
}
const count = (result: Row["result"]) => rows.filter((row) => row.result === result).length;
if (json) console.log(JSON.stringify(rows, null, 2));
else console.log(`\n${count("pass")} pass, ${count("fail")} fail, ${count("not-here")} not here`);
Deno.exit(count("fail") > 0 ? 1 : 0);
