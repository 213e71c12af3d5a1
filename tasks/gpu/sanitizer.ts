import { cudaExamples, cudaTests, faultTests, textOf, vulkanTests } from "./files.ts";
import { inLanes, type Job, type Variables } from "./job.ts";
import type { Outcome } from "./step.ts";
import { reportOf } from "./tests.ts";

/** One of compute-sanitizer's tools. */
export type Tool = "memcheck" | "racecheck" | "initcheck";

/** Where it is, beside the PATH. */
const PLACES = ["compute-sanitizer", "/usr/local/cuda/bin/compute-sanitizer"];

/** Seconds until a process has to have opened CUDA: some examples do their work on the CPU first. */
const LAUNCH_TIMEOUT = "120";

/**
 * The options of every tool. Calls that the tests mean to fail are not its matter: the tests look at their codes. Neither
 * are child processes: what breaks CUDA for good, a kernel that leaves its memory, is tried in those alone. A process
 * that uses no CUDA is an error, since nothing was checked then.
 */
const OPTIONS = [
  ...["--target-processes", "application-only", "--report-api-errors", "no", "--check-exit-code", "no"],
  ...["--launch-timeout", LAUNCH_TIMEOUT],
];

const OF_TOOL: Readonly<Record<Tool, readonly string[]>> = {
  memcheck: ["--leak-check", "full"],
  racecheck: [],
  initcheck: [],
};

/**
 * Calls that the sweeps do not make fail under the tools: where OpenGL's context cannot be made current, nothing can
 * unregister what CUDA has of it, and memcheck finds that leak.
 */
const SPARED: Variables = { SAMEPAGE_SPARED_CALLS: "egl.eglMakeCurrent" };

/** PyTorch keeps the memory that it has freed until the process ends, and memcheck counts it as leaked. */
const UNCACHED: Variables = { PYTORCH_NO_CUDA_MEMORY_CACHING: "1" };

/** A test file says so where it cannot run under the tools, and why. */
const EXEMPT = /^\/\/ compute-sanitizer: not here, (.+)$/m;

/** What a file of tests has that uses a GPU. */
const USES_GPU = /\bgpuTest\(|^import .*\btest\b.* from "\.\/cuda\.ts";/m;

/** Processes at a time. */
const LANES = 5;

/** Each talks to its tool by a few ports of its own, from here on. */
const FIRST_PORT = 49152;
const PORTS = 16;

let started = 0;

/** One process under a tool. */
interface Checked {
  /** What was found, a line each. */
  readonly failures: readonly string[];
}

/** What there is to check. */
interface Work {
  readonly examples?: readonly string[];
  readonly tests?: readonly string[];
  /** What is said of files that are not checked. */
  readonly exempt?: readonly string[];
  readonly variables?: Variables;
}

/** Runs CUDA's examples under a tool, and all of its tests if that is asked for. */
export async function sanitize(job: Job, tool: Tool, withTests: boolean): Promise<Outcome> {
  const examples = await cudaExamples();
  const [tests, exempt] = withTests ? await testsToCheck() : [[], []];
  return await check(job, tool, { examples, tests, exempt });
}

/** Runs the tests in which CUDA shares memory with Vulkan and OpenCL under memcheck: of the rings, a few laps. */
export async function sanitizeSharing(job: Job): Promise<Outcome> {
  const tests = (await vulkanTests()).filter((file) => file.endsWith("_gpu_test.ts"));
  return await check(job, "memcheck", { tests, variables: { SAMEPAGE_RING_LAPS: "20" } });
}

async function check(
  job: Job,
  tool: Tool,
  { examples = [], tests = [], exempt = [], variables = {} }: Work,
): Promise<Outcome> {
  const path = await found();
  if (path === undefined) return { verdict: "not here", counts: "there is no compute-sanitizer" };
  const all = [
    ...tests.map((file) => ({ file, isTest: true })),
    ...examples.map((file) => ({ file, isTest: false })),
  ];
  if (all.length === 0) return { verdict: "red", counts: "there is nothing to check" };
  const checked = await inLanes(all, LANES, ({ file, isTest }) => checkOne(job, path, tool, file, isTest, variables));
  const failures = checked.flatMap(({ failures }) => failures);
  const clean = checked.filter(({ failures }) => failures.length === 0).length;
  const counts = `${clean} of ${all.length} processes without an error${
    tool === "memcheck" ? " and without a leak" : ""
  }`;
  return { verdict: failures.length === 0 ? "green" : "red", counts, failures, remarks: exempt };
}

async function checkOne(
  job: Job,
  path: string,
  tool: Tool,
  file: string,
  isTest: boolean,
  variables: Variables,
): Promise<Checked> {
  if (job.left < 1) return { failures: [`${file}: the step's time was up before it began`] };
  const log = await Deno.makeTempFile({ prefix: "samepage-sanitizer-", suffix: ".log" });
  const under = (args: readonly string[]) => {
    const port = ["--port", String(FIRST_PORT + PORTS * (started++ % 64))];
    const options = ["--tool", tool, ...OF_TOOL[tool], ...OPTIONS, ...port, "--log-file", log];
    return job.run(path, [...options, Deno.execPath(), ...args], "sanitizer.log", {
      ...SPARED,
      ...UNCACHED,
      ...variables,
    });
  };
  try {
    const failures = isTest
      ? (await reportOf(file, [], under)).failed
      : await endOf(file, under(["run", "-A", "--no-check", file]));
    const text = await Deno.readTextFile(log);
    await job.write("sanitizer.log", `[${tool}, ${file}]\n${text.slice(0, 200_000)}\n`);
    return { failures: [...failures, ...foundBy(tool, text).map((what) => `${file}: ${what}`)] };
  } finally {
    await Deno.remove(log);
  }
}

async function endOf(file: string, run: Promise<{ readonly code: number; readonly how: string }>): Promise<string[]> {
  const { code, how } = await run;
  return code === 0 ? [] : [`${file}: it ended with ${how}`];
}

const ERRORS = /ERROR SUMMARY: (\d+) errors?/g;
const LEAKS = /LEAK SUMMARY: (\d+) bytes leaked in (\d+) allocations?/g;
const RACES = /RACECHECK SUMMARY: (\d+) hazards? displayed \((\d+) errors?, (\d+) warnings?\)/g;

/** What a tool's log reports: errors, leaks, hazards; or that it has no summary, so that nothing was checked. */
export function foundBy(tool: Tool, log: string): string[] {
  const summaries = Array.from(log.matchAll(tool === "racecheck" ? RACES : ERRORS), ([, count]) => Number(count));
  if (summaries.length === 0) return [`${tool} has checked nothing: ${lastLine(log)}`];
  const count = summaries.reduce((all, each) => all + each, 0);
  const errors = count === 0 ? [] : [`${tool}: ${count} errors; the first: ${firstError(log)}`];
  const leaks = Array.from(log.matchAll(LEAKS)).filter(([, bytes]) => Number(bytes) > 0);
  return [...errors, ...leaks.map(([, bytes, blocks]) => `${tool}: ${bytes} bytes leaked in ${blocks} allocations`)];
}

/** The first line that does not belong to the frame. */
function firstError(log: string): string {
  const lines = log.split("\n").map((line) => line.replace(/^=+ ?/, ""));
  return lines.find((line) => line !== "" && !/^COMPUTE-SANITIZER|SUMMARY/.test(line))?.trim() ?? "not reported";
}

function lastLine(log: string): string {
  return log.trimEnd().split("\n").at(-1)?.replace(/^=+ ?/, "") || "its log is empty";
}

/** The tests that use a GPU; and those that say why they do not run under the tools. */
async function testsToCheck(): Promise<[tests: string[], exempt: string[]]> {
  const [tests, exempt]: [string[], string[]] = [[], []];
  for (const file of [...await faultTests(), ...await cudaTests()]) {
    const text = await textOf(file);
    if (!USES_GPU.test(text)) continue;
    const reason = EXEMPT.exec(text)?.[1];
    if (reason === undefined) tests.push(file);
    else exempt.push(`${file} is not checked: ${reason}`);
  }
  return [tests, exempt];
}

async function found(): Promise<string | undefined> {
  for (const path of PLACES) {
    try {
      const { success } = await new Deno.Command(path, { args: ["--version"], stdout: "null", stderr: "null" })
        .output();
      if (success) return path;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return undefined;
}
