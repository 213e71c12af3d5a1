import { join } from "@std/path";
import type { Record } from "../../bench/report/record.ts";
import { NEEDS_TWO } from "../../bench/harness/sharing.ts";
import type { Job } from "./job.ts";
import type { Outcome } from "./step.ts";

/**
 * The bench of CUDA, or of what Vulkan shares with it. A missed goal is marked and is not a failure; a way that could
 * not be measured is one, unless it needs another GPU. `only`: figures with this in their ids.
 */
export async function bench(job: Job, what: "cuda" | "vulkan", only = ""): Promise<Outcome> {
  const { code, how } = await job.deno(
    ["run", "-A", "--no-check", "tasks/bench.ts", `--${what}`, `--only=${only}`, `--out=${job.out}`],
    "bench.log",
  );
  const record = await recordIn(join(job.out, "results"), what);
  if (record === undefined) return { verdict: "red", counts: `it ended with ${how}`, failures: [`bench: ${how}`] };
  const { figures } = record;
  const absent = figures.flatMap(({ id, missing }) =>
    Object.entries(missing).map(([way, reason]) => ({ reason, text: `bench: ${id}: ${way} is not here: ${reason}` }))
  );
  const missing = absent.filter(({ reason }) => reason !== NEEDS_TWO).map(({ text }) => text);
  const judged = figures.filter(({ goal }) => goal?.met !== undefined && goal.met !== null);
  const missed = judged.filter(({ goal }) => goal!.met === false);
  const counts = `${figures.length} figures; of ${judged.length} goals ${judged.length - missed.length} are reached`;
  const failures = [...(code === 0 ? [] : [`bench: it ended with ${how}`]), ...missing];
  const onTwo = absent.length - missing.length;
  const fewer = onTwo === 0 ? [] : [`${onTwo} ways are not here: ${NEEDS_TWO}`];
  const remarks = missed.map(({ id, goal, ways }) =>
    `MISSED: ${id} ${goal!.text}: ${ways[1].against!.ratio.median.toFixed(3)} ×`
  );
  return { verdict: failures.length === 0 ? "green" : "red", counts, failures, remarks: [...fewer, ...remarks] };
}

async function recordIn(folder: string, what: string): Promise<Record | undefined> {
  try {
    for await (const { name } of Deno.readDir(folder)) {
      if (name.startsWith(`${what}-`) && name.endsWith(".json")) {
        return JSON.parse(await Deno.readTextFile(join(folder, name)));
      }
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return undefined;
}
