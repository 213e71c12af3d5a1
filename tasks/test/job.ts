import { intelEnv } from "../setup/wheels.ts";
import { readJUnit, type Report } from "../report.ts";

/** The checkout. */
export const ROOT: string = new URL("../../", import.meta.url).pathname;

/** A run that takes longer hangs, and is ended with SIGTERM. */
const LIMIT = 30 * 60 * 1000;
/** rusticl has no device unless it is asked for one. */
export const RUSTICL: Readonly<Record<string, string>> = {
  RUSTICL_ENABLE: Deno.env.get("RUSTICL_ENABLE") ?? "llvmpipe",
};

/** Flags of every `deno test`. */
export const TEST_FLAGS: readonly string[] = ["-A", "--no-check", "--v8-flags=--expose-gc"];

/** One `deno test` to be run. */
export interface Job {
  /** The file, or what all of its files are. */
  readonly name: string;
  /** Files, and flags beside those that every run has. */
  readonly args: readonly string[];
  /** Is a test asked for? Deno reports the others as skipped. */
  readonly wanted: (test: string) => boolean;
}

/** What came of it. */
export interface Run extends Report {
  readonly name: string;
  readonly seconds: number;
  /** What failed, and passed when it ran once more. */
  readonly unsteady?: readonly string[];
}

/** Runs jobs in their order, so many at a time. Where there is one alone, what it prints is shown as it comes. */
export async function inLanes(jobs: readonly Job[], lanes: number): Promise<Run[]> {
  const left = jobs.values();
  const runs: Run[] = [];
  const lane = async () => {
    for (const job of left) runs.push(await run(job, jobs.length === 1));
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return runs;
}

/**
 * Runs once more, alone, each job that failed beside others. A failure that does not come again is unsteady: a fault of the
 * test or of what it tests, which is named with its message, but which does not stop a change that has nothing to do with it.
 */
export async function inSecondRuns(jobs: readonly Job[], runs: readonly Run[]): Promise<Run[]> {
  const settled: Run[] = [];
  for (const first of runs) {
    const job = first.failed.length === 0 ? undefined : jobs.find(({ name }) => name === first.name);
    if (job === undefined) {
      settled.push(first);
      continue;
    }
    console.log(`${job.name} failed. It runs once more, alone:`);
    const second = await run(job, true);
    settled.push(second.failed.length > 0 ? second : { ...second, unsteady: first.failed });
  }
  return settled;
}

async function run({ name, args, wanted }: Job, isShown: boolean): Promise<Run> {
  const file = await Deno.makeTempFile({ prefix: "samepage-junit-", suffix: ".xml" });
  const start = performance.now();
  try {
    const status = await deno(["test", ...TEST_FLAGS, `--junit-path=${file}`, ...args], isShown);
    const end = status.success ? undefined : status.signal ?? `code ${status.code}`;
    const { passed, failed, skipped } = withEnd(readJUnit(await Deno.readTextFile(file)), end);
    return { name, passed, failed, skipped: skipped.filter(wanted), seconds: (performance.now() - start) / 1000 };
  } finally {
    await Deno.remove(file);
  }
}

/** A run that ends badly, by a signal or a code, with no failed test counts as one failure. */
export function withEnd(report: Report, end: string | undefined): Report {
  if (end !== undefined && report.failed.length === 0) report.failed.push(`the run ended with ${end}`);
  return report;
}

/** Runs Deno. What it prints is shown as it comes, or in one piece when it has ended. */
export async function deno(args: readonly string[], isShown: boolean): Promise<Deno.CommandStatus> {
  const stdio = isShown ? "inherit" : "piped";
  const child = new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: ROOT,
    env: { ...RUSTICL, ...Deno.env.get("OCL_ICD_VENDORS") === undefined ? await intelEnv() : {} },
    stdin: "null",
    stdout: stdio,
    stderr: stdio,
    signal: AbortSignal.timeout(LIMIT),
  }).spawn();
  if (isShown) return await child.status;
  const { stdout, stderr, ...status } = await child.output();
  for (const text of [stdout, stderr]) console.log(new TextDecoder().decode(text));
  return status;
}
