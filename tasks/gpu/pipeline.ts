import { join } from "@std/path";
import { withFFmpeg } from "./ffmpeg.ts";
import type { Job } from "./job.ts";
import type { Outcome } from "./step.ts";
import { runTests } from "./tests.ts";

/** Pipelines on the GPU; from NVDEC on where FFmpeg's libraries have travelled there. What they print is a remark. */
export async function pipelines(job: Job): Promise<Outcome> {
  const tests = (job: Job) => runTests(job, ["tests/pipeline/cuda_test.ts"], 1);
  const withNvdec = await withFFmpeg(job, tests);
  const outcome = withNvdec.verdict === "not here" ? await tests(job) : withNvdec;
  const log = await Deno.readTextFile(join(job.out, "tests.log"));
  const shown = log.match(/^pipeline: .*\n(?:(?!.*\.\.\. |-----).+\n)*/gm) ?? [];
  return { ...outcome, remarks: [...shown.flatMap((text) => text.trimEnd().split("\n")), ...outcome.remarks ?? []] };
}
