import { join } from "@std/path";
import { ffmpegEnv } from "../setup/wheels.ts";
import { bench } from "./bench.ts";
import { gpuClip, missingClips } from "./clips.ts";
import type { Job } from "./job.ts";
import { type Packed, withPacked } from "./packed.ts";
import { type Outcome, together } from "./step.ts";
import { runTests } from "./tests.ts";

/** The libraries of the wheel `av`. */
const FFMPEG: Packed = { name: "av.tar.xz", variablesOf: (folder) => ffmpegEnv(join(folder, "av.libs")) };

const TESTS = ["tests/ffmpeg/cuda_gpu_test.ts", "tests/ffmpeg/nvdec_gpu_test.ts"];

/** FFmpeg with CUDA: tests, the example, and the bench. */
export function ffmpeg(job: Job): Promise<Outcome> {
  return withFFmpeg(job, async (job) => {
    const tests = await runTests(job, TESTS, 1);
    const shown = await example(job);
    const measured = await bench(job, "cuda", "nvdec");
    return together([tests, shown, measured]);
  });
}

/** Does something with FFmpeg's libraries and the clips, where both have travelled here. */
export function withFFmpeg(job: Job, work: (job: Job) => Promise<Outcome>): Promise<Outcome> {
  return withPacked(job, FFMPEG, work, missingClips());
}

/** The example; what it prints is a remark. */
async function example(job: Job): Promise<Outcome> {
  const args = ["run", "-A", "--no-check", "examples/nvdec-cuda/main.ts", gpuClip("h264-1080.mp4"), job.out];
  const { code, how, stdout } = await job.deno(args, "tests.log");
  const isWhole = /^sheet +.*\.png$/m.test(stdout);
  const remarks = stdout.match(/^(?:frames|moved|left) .*$/gm) ?? [];
  if (code === 0 && isWhole) return { verdict: "green", counts: "the example ran", remarks };
  return { verdict: "red", counts: `the example ended with ${how}`, failures: [`example: ${how}`], remarks };
}
