import { readJUnit, type Report } from "../report.ts";
import type { TestFile } from "./files.ts";
import { inLanes, type Job } from "./job.ts";
import type { Outcome } from "./step.ts";

/** What comes before the words of `deno test`. */
const TEST = ["test", "-A", "--no-check", "--v8-flags=--expose-gc"];

/** Runs something that runs `deno test` with more arguments. */
export type Runner = (args: readonly string[]) => Promise<{ readonly code: number; readonly how: string }>;

/** Runs files of tests, each in a process of its own. Tests that are filtered out are not counted. */
export async function runTests(job: Job, files: readonly (string | TestFile)[], lanes: number): Promise<Outcome> {
  if (files.length === 0) return { verdict: "red", counts: "there are no such tests" };
  const reports = await inLanes(files, lanes, async (file) => {
    const { path, only } = typeof file === "string" ? { path: file, only: "" } : file;
    if (job.left < 1) return notBegun(`${path} ${only}`.trim());
    const args = only === "" ? [] : [`--filter=/^${only}/`];
    const report = await reportOf(path, args, (all) => job.deno(all, "tests.log"));
    return { ...report, skipped: report.skipped.filter((name) => name.startsWith(only)) };
  });
  return outcomeOf(reports);
}

/** One `deno test` of a file. A run that ends badly and names no failed test counts as one that failed. */
export async function reportOf(file: string, args: readonly string[], run: Runner): Promise<Report> {
  const junit = await Deno.makeTempFile({ prefix: "samepage-gpu-", suffix: ".xml" });
  try {
    const { code, how } = await run([...TEST, `--junit-path=${junit}`, ...args, file]);
    const report = readJUnit(await Deno.readTextFile(junit));
    const failed = report.failed.map((name) => `${file}: ${name}`);
    if (code !== 0 && failed.length === 0) failed.push(`${file}: it ended with ${how}`);
    return { ...report, failed };
  } finally {
    await Deno.remove(junit);
  }
}

/** What several files come to; tests that are not here are counted by their reasons. */
export function outcomeOf(reports: readonly Report[]): Outcome {
  const all = (outcome: keyof Report) => reports.flatMap((report) => report[outcome]);
  const [passed, failures, skipped] = [all("passed").length, all("failed"), all("skipped")];
  const counts = [
    `${passed} passed`,
    ...(failures.length > 0 ? [`${failures.length} failed`] : []),
    ...(skipped.length > 0 ? [`${skipped.length} not here`] : []),
  ].join(", ");
  return {
    verdict: failures.length === 0 && passed > 0 ? "green" : "red",
    counts,
    failures,
    remarks: reasons(skipped),
  };
}

/** `"3 × needs 2 GPUs"`. */
function reasons(skipped: readonly string[]): string[] {
  const byReason = Map.groupBy(skipped, (name) => /\((?:not here|skipped): (.*)\)$/.exec(name)?.[1] ?? name);
  return Array.from(byReason, ([reason, names]) => `${names.length} × ${reason}`);
}

function notBegun(file: string): Report {
  return { passed: [], failed: [`${file}: the step's time was up before it began`], skipped: [] };
}
