// Keeps the results of a run of `deno task gpu`: `deno run -A tasks/gpu/keep.ts FOLDER`.
//
// The outcome of each step goes to tests/gpu/outcomes/<gpu>.json in place of the step's last one, the rows of
// conformance to tests/conformance/results, and the bench's figures to bench/results. Rows that fail are not kept, nor
// rows and figures that lack what stands there now. The exit code is 1 where something was not kept.

import { join, resolve } from "@std/path";
import { cudaPageOf, vulkanPageOf } from "../../bench/report/cuda.ts";
import { gpuNameOf } from "../../bench/report/machine.ts";
import type { Record } from "../../bench/report/record.ts";
import type { Row } from "../../tests/conformance/rows.ts";
import { lostFigures, lostRows, type Outcomes, textOf, withOutcomes } from "./outcomes.ts";
import type { Summary } from "./summary.ts";

const ROOT = resolve(import.meta.dirname!, "../..");

/** The content of a JSON file; undefined where there is none. */
function read<T>(path: string): T | undefined {
  try {
    return JSON.parse(Deno.readTextFileSync(path));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** The names of a folder's files that fit; none where it is not there. */
function filesOf(folder: string, fits: RegExp): string[] {
  try {
    return Array.from(Deno.readDirSync(folder), ({ name }) => name).filter((name) => fits.test(name));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

let isWhole = true;
const written: string[] = [];

function keep(path: string, text: string): void {
  Deno.writeTextFileSync(path, text);
  written.push(path);
}

function refuse(name: string, reasons: readonly string[]): void {
  isWhole = false;
  console.error(`not kept: ${name}:\n${reasons.slice(0, 20).map((reason) => `  ${reason}`).join("\n")}`);
}

function keepRows(name: string, gpu: string): void {
  const to = join(ROOT, "tests/conformance/results", `${gpu}-${name.slice("conformance-".length)}`);
  const text = Deno.readTextFileSync(join(folder, name));
  const { rows } = JSON.parse(text) as { rows: Row[] };
  const reasons = [
    ...rows.filter(({ result }) => result === "fail").map((row) => `${row.edge}  ${row.case} fails`),
    ...lostRows(read<{ rows: Row[] }>(to)?.rows ?? [], rows).map((row) => `${row} passed before`),
  ];
  if (reasons.length > 0) refuse(name, reasons);
  else keep(to, text);
}

function keepFigures(name: string, topic: "cuda" | "vulkan"): void {
  const record = read<Record>(join(folder, "results", name))!;
  const to = join(ROOT, "bench/results", `${topic}-${gpuNameOf(record.machine.cuda!)}.json`);
  const reasons = lostFigures(read<Record>(to)?.figures ?? [], record.figures).map((id) => `${id} was measured before`);
  if (reasons.length > 0) return refuse(name, reasons);
  keep(to, JSON.stringify(record));
  const pageOf = topic === "cuda" ? cudaPageOf : vulkanPageOf;
  keep(to.replace(/json$/, "md"), pageOf(record, to.slice(to.lastIndexOf("/") + 1)));
}

const [folder] = Deno.args;
const summary = folder === undefined ? undefined : read<Summary>(join(folder, "summary.json"));
if (summary === undefined) {
  console.error("Usage: deno run -A tasks/gpu/keep.ts FOLDER, which holds the summary.json of a run");
  Deno.exit(2);
}
const gpu = gpuNameOf(summary.machine);
const outcomes = join(ROOT, "tests/gpu/outcomes", `${gpu}.json`);
keep(outcomes, textOf(withOutcomes(read<Outcomes>(outcomes), summary)));
for (const name of filesOf(folder, /^conformance-.+\.json$/)) keepRows(name, gpu);
for (const topic of ["cuda", "vulkan"] as const) {
  for (const name of filesOf(join(folder, "results"), RegExp(`^${topic}-.+\\.json$`))) keepFigures(name, topic);
}
const formatted = written.filter((path) => path.includes("/bench/"));
if (formatted.length > 0) {
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "-q", "--line-width=120", ...formatted] }).output();
}
for (const path of written) console.log(`kept ${path}`);
Deno.exit(isWhole ? 0 : 1);
