// Everything that needs an NVIDIA GPU, in one run: `deno task gpu`; `--help` lists the options.
//
// Steps that do not disturb each other run beside each other, and the bench alone. The results are at most eight files:
// conformance-<api>.json, results/cuda-<gpu>.json and .md (those of `rings` are vulkan-<gpu>), summary.json, tests.log,
// sanitizer.log, bench.log; gpu/keep.ts keeps them in the repository. The exit code is 0 where all steps are green, 1
// where one is not, 2 where there is no GPU.

import { parseArgs } from "node:util";
import { join, resolve } from "@std/path";
import { cudaDevices } from "@samepage/interop/cuda";
import { noCuda } from "../bench/harness/cuda.ts";
import { commit, describeGpu } from "../bench/report/machine.ts";
import { Job } from "./gpu/job.ts";
import { gpuErrors } from "./gpu/kernel_log.ts";
import type { Step } from "./gpu/step.ts";
import { stepsOn } from "./gpu/steps.ts";
import type { Done, Summary } from "./gpu/summary.ts";

const HELP = `Runs everything that needs an NVIDIA GPU.

Usage: deno task gpu [--only=step,step] [--list] [--out=folder] [--minutes=9.5] [--commit=hash]

  --only=a,b     only these steps; some run only so
  --list         names them
  --out=folder   where the results go; $OUT, or out/gpu
  --minutes=n    how long all of it may take
  --commit=hash  what the results say where git is not there to ask`;

/** Lines of failures and remarks that are printed; summary.json has all. */
const PRINTED = 60;

const { values: asked } = parseArgs({
  args: Deno.args,
  options: {
    only: { type: "string" },
    list: { type: "boolean", default: false },
    out: { type: "string", default: Deno.env.get("OUT") || resolve(import.meta.dirname!, "../out/gpu") },
    minutes: { type: "string", default: "9.5" },
    commit: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
if (asked.help) {
  console.log(HELP);
  Deno.exit(0);
}

const machine = await describeGpu();
const reason = noCuda();
const gpus = reason === undefined ? cudaDevices().length : 0;
const all = stepsOn(machine, gpus);
const names = asked.only?.split(",") ??
  all.filter(({ onlyIfNamed }) => onlyIfNamed === undefined).map(({ name }) => name);
const unknown = names.filter((name) => !all.some((step) => step.name === name));
const minutes = Number(asked.minutes);
if (unknown.length > 0 || !(minutes > 0)) {
  console.error(unknown.length > 0 ? `gpu: there is no step ${unknown.join(", ")}: --list names them` : HELP);
  Deno.exit(2);
}
const steps = all.filter(({ name }) => names.includes(name));
if (asked.list) {
  for (const { name, what, limit, stage, onlyIfNamed } of asked.only === undefined ? all : steps) {
    const when = onlyIfNamed === undefined ? `stage ${stage}` : "only if it is named";
    console.log(`${name.padEnd(12)} ${what} (${when}, at most ${limit} s)`);
  }
  Deno.exit(0);
}
if (reason !== undefined) {
  console.error(`gpu: not here: ${reason}`);
  Deno.exit(2);
}

const began = performance.now();
const hash = asked.commit ?? await commit();
await Deno.mkdir(asked.out, { recursive: true });
console.log(`${machine}; ${gpus === 1 ? "one GPU" : `${gpus} GPUs`}; commit ${hash}`);

const done: Done[] = [];
for (const stage of [1, 2, 3, 4, 5, 6, 7, 8, 9]) {
  await Promise.all(
    steps.filter((step) => step.stage === stage).map(async (step) => {
      const result = await run(step);
      done.push(result);
      console.log(line(result));
    }),
  );
}
done.sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name));

const isGreen = done.every(({ verdict }) => verdict === "green");
const date = new Date().toISOString().slice(0, 16).replace("T", " ");
const minutesTaken = secondsSince(began) / 60;
const summary: Summary = { commit: hash, date, machine, gpus, minutes: minutesTaken, green: isGreen, steps: done };
await Deno.writeTextFile(join(asked.out, "summary.json"), JSON.stringify(summary, null, 2));

const told = done.flatMap(({ name, failures = [], remarks = [] }) => [
  ...failures.map((failure) => `✗ ${name}: ${failure}`),
  ...remarks.map((remark) => `– ${name}: ${remark}`),
]);
if (told.length > 0) console.log(`\n${told.slice(0, PRINTED).map(shortened).join("\n")}`);
if (told.length > PRINTED) console.log(`… and ${told.length - PRINTED} more in summary.json`);
console.log(`\n${["step", "result", "s"].join("  ")}\n${done.map(line).join("\n")}`);
console.log(`\n${isGreen ? "all green" : "NOT all green"}, ${(secondsSince(began) / 60).toFixed(1)} minutes`);
Deno.exit(isGreen ? 0 : 1);

/** Runs a step within its limit and what is left of the whole, but for what the stages behind it are to have. */
async function run(step: Step): Promise<Done> {
  const start = performance.now();
  const later = steps.filter(({ stage }) => stage > step.stage);
  const bench = later.find(({ name }) => name === "bench" || name === "rings")?.limit ?? 0;
  const left = 60 * minutes - secondsSince(began) - bench;
  const job = new Job(asked.out, hash, Math.min(step.limit, left));
  const { name } = step;
  if (left < 5) return { name, seconds: 0, verdict: "red", counts: "no time was left", failures: ["no time was left"] };
  const since = Deno.osUptime();
  try {
    const outcome = await step.run(job);
    const errors = outcome.verdict === "green" ? [] : await gpuErrors(since);
    return { name, ...outcome, remarks: [...errors, ...outcome.remarks ?? []], seconds: secondsSince(start) };
  } catch (error) {
    const failure = error instanceof Error ? `${error.message}` : String(error);
    return {
      name,
      seconds: secondsSince(start),
      verdict: "red",
      counts: "the step itself failed",
      failures: [failure],
    };
  }
}

function line({ name, verdict, counts, seconds }: Done): string {
  return `${name.padEnd(12)} ${verdict.padEnd(8)} ${counts} (${seconds.toFixed(0)} s)`;
}

function secondsSince(start: number): number {
  return (performance.now() - start) / 1000;
}

/** One line of at most 220 characters. */
function shortened(text: string): string {
  const [first] = text.split("\n");
  return first.length > 220 ? `${first.slice(0, 219)}…` : first;
}
