// Measures samepage beside C and other peers: `deno task bench`; `--help` lists the options.
//
// Every bench file has a process of its own. Within it, batches of all ways of a figure run in turn (bench/README.md).

import { parseArgs } from "node:util";
import { basename, fromFileUrl, join } from "@std/path";
import { build } from "../bench/harness/c.ts";
import { lackingFor, type Topic } from "../bench/harness/figure.ts";
import { linesOf } from "../bench/harness/lines.ts";
import type { Effort } from "../bench/harness/measure.ts";
import type { Result } from "../bench/harness/result.ts";
import { claimCells, claimsOf } from "../bench/report/claims.ts";
import { crossoverOf } from "../bench/report/crossover.ts";
import { cudaPageOf, vulkanPageOf } from "../bench/report/cuda.ts";
import { describeMachine, type Machine, nameOf } from "../bench/report/machine.ts";
import { markdownOf } from "../bench/report/markdown.ts";
import { pictureOf } from "../bench/report/picture.ts";
import type { Record } from "../bench/report/record.ts";
import { figureLines, growthLines, HEADING } from "../bench/report/table.ts";

const HELP = `Measures samepage beside C and other peers.

Usage: deno task bench [--cuda | --vulkan] [--only=word] [--rounds=21] [--smoke] [--json] [--out=folder]

  --cuda         CUDA's figures in place of all others; they need a GPU
  --vulkan       instead, what Vulkan, OpenCL and CUDA share; it needs a GPU too, and for some figures two
  --only=word    only figures whose id has this in it
  --rounds=n     rounds of one batch of each way
  --smoke        everything, once or twice: does it run?
  --json         prints JSON in place of the table
  --out=folder   writes RESULTS.md, results.svg and results/<machine>.json there; bench/ where all was measured; of
                 the others, results/cuda-<gpu>.json and .md, or vulkan-<gpu>`;

/** The bench files of each topic, in the order of the table. CUDA's and Vulkan's are measured by themselves. */
const FILES: { readonly [T in Topic]: readonly string[] } = {
  opencl: [
    "map",
    "transfer",
    "edges",
    "enqueue",
    "allocate",
    "wait",
    "live",
    "peers",
    "opencv_wrap",
    "opencv_blur",
    "opencv_call",
    "ring",
    "ucx",
    "vaapi",
    "ffmpeg",
    "ffmpeg_clip",
    "ffmpeg_mpeg4",
    "gstreamer",
    "gstreamer_pipeline",
    "pipeline",
    "onnxruntime",
    "onnxruntime_node",
    "openvino",
    "python",
    "sycl",
    "dlpack",
  ],
  cuda: [
    "cuda_launch",
    "cuda_event",
    "cuda_register",
    "cuda_mapped",
    "cuda_frame",
    "cuda_edges",
    "egl_stream",
    "cuda_claims",
    "ffmpeg_nvdec",
    "cuda_python",
    "ucx_cuda",
  ],
  vulkan: ["external_ring", "external_import"],
};

const BENCH = fromFileUrl(new URL("../bench", import.meta.url));
const RUN_FILE = join(BENCH, "harness", "run_file.ts");
const FULL: Effort = { rounds: 21, warmUpMs: 1000, batchMs: 40, repeats: 1_000_000 };
const SMOKE: Effort = { rounds: 2, warmUpMs: 1, batchMs: 1, repeats: 1_000 };

/** The results of one file, as they come. */
async function* measureFile(file: string, effort: Effort, only: string): AsyncGenerator<Result, void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--v8-flags=--expose-gc", RUN_FILE, file, JSON.stringify(effort), only],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  for await (const line of linesOf(child.stdout)) yield JSON.parse(line);
  const { success, code, signal } = await child.status;
  if (success) return;
  console.error(`bench: ${basename(file)} ended with ${signal ?? `code ${code}`}`);
  Deno.exitCode = 1;
}

function linesFor(result: Result): string[] {
  return "figure" in result ? figureLines(result.figure) : growthLines(result.growth);
}

async function measureAll(
  files: readonly string[],
  machine: Machine,
  effort: Effort,
  only: string,
  show: (text: string) => void,
): Promise<Record> {
  const results: Result[] = [];
  show(HEADING);
  for (const file of files) {
    for await (const result of measureFile(join(BENCH, `${file}_bench.ts`), effort, only)) {
      results.push(result);
      show(linesFor(result).join("\n"));
    }
  }
  return {
    machine,
    effort,
    figures: results.flatMap((result) => "figure" in result ? [result.figure] : []),
    growths: results.flatMap((result) => "growth" in result ? [result.growth] : []),
  };
}

/** What CUDA's figures say together. */
function cudaLines(record: Record): string[] {
  const crossover = crossoverOf(record.figures);
  const claims = claimsOf(record.figures).map((claim) => {
    const [id, , , mapped, copied, ratio, verdict] = claimCells(claim);
    return `  ${id.padEnd(26)} mapped ${mapped}, copied ${copied}: ${ratio}, ${verdict}`;
  });
  return [
    ...(crossover === undefined ? [] : ["", crossover]),
    ...(claims.length === 0 ? [] : ["", "The advisor's claims:", ...claims]),
  ];
}

/** More digits of a measurement say nothing. */
function sixDigits(_: string, value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(6)) : value;
}

async function writeGpu(folder: string, record: Record, topic: "cuda" | "vulkan"): Promise<void> {
  const name = nameOf(record.machine, topic);
  const claims = topic === "cuda" ? { claims: claimsOf(record.figures) } : {};
  const pageOf = topic === "cuda" ? cudaPageOf : vulkanPageOf;
  const [json, page] = ["json", "md"].map((kind) => join(folder, "results", `${name}.${kind}`));
  await Deno.mkdir(join(folder, "results"), { recursive: true });
  await Deno.writeTextFile(json, JSON.stringify({ ...record, ...claims }, sixDigits));
  await Deno.writeTextFile(page, pageOf(record, `${name}.json`));
  await format([json, page]);
}

async function format(paths: readonly string[]): Promise<void> {
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "-q", "--line-width=120", ...paths] }).output();
}

async function write(folder: string, record: Record): Promise<void> {
  const { machine: { cpu, cores, opencl, deno, commit, date } } = record;
  const json = `results/${nameOf(record.machine, "opencl")}.json`;
  const paths = { json: join(folder, json), page: join(folder, "RESULTS.md"), picture: join(folder, "results.svg") };
  const caption = `${cpu}, ${cores} cores; ${opencl?.split(",")[0]}; Deno ${deno}; ${commit}, ${date.slice(0, 10)}`;
  await Deno.mkdir(join(folder, "results"), { recursive: true });
  await Deno.writeTextFile(paths.json, JSON.stringify(record, sixDigits));
  await Deno.writeTextFile(paths.page, markdownOf(record, json));
  await Deno.writeTextFile(paths.picture, pictureOf(record.figures, caption));
  await format(Object.values(paths));
}

const { values: asked } = parseArgs({
  args: Deno.args,
  options: {
    cuda: { type: "boolean", default: false },
    vulkan: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    rounds: { type: "string" },
    out: { type: "string" },
    smoke: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const chosen = asked.smoke ? SMOKE : FULL;
const rounds = Number(asked.rounds ?? chosen.rounds);
const topic: Topic = asked.cuda ? "cuda" : asked.vulkan ? "vulkan" : "opencl";
if (asked.help || (asked.cuda && asked.vulkan) || !Number.isInteger(rounds) || rounds < 1) {
  console.log(HELP);
  Deno.exit(asked.help ? 0 : 2);
}
const lacking = lackingFor(topic);
if (lacking !== undefined) {
  const whose = { opencl: "", cuda: "CUDA's figures are not here: ", vulkan: "Vulkan's figures are not here: " }[topic];
  console.error(`bench: ${whose}${lacking}`);
  if (topic === "opencl" || !asked.smoke) Deno.exit(topic === "opencl" ? 1 : 2);
}

const show = (text: string) => asked.json ? undefined : console.log(text);
for (const problem of await build(topic)) console.error(`bench: going on without it: ${problem}`);
const record = await measureAll(FILES[topic], await describeMachine(topic), { ...chosen, rounds }, asked.only, show);
if (asked.json) console.log(JSON.stringify(record, null, 2));
else if (topic === "cuda") cudaLines(record).forEach(show);
const out = asked.out ?? (asked.only === "" && !asked.smoke && Deno.exitCode === 0 ? BENCH : undefined);
if (out !== undefined) await (topic === "opencl" ? write(out, record) : writeGpu(out, record, topic));
Deno.exit(Deno.exitCode);
