import { join, resolve } from "@std/path";
import { ffmpegEnv } from "../setup/wheels.ts";
import { bench } from "./bench.ts";
import { gpuClip, missingClips } from "./clips.ts";
import { isFile } from "./files.ts";
import type { Job } from "./job.ts";
import type { Outcome } from "./step.ts";
import { runTests } from "./tests.ts";

/** The libraries of the wheel `av`, packed: they travel with the kit, and the machine has no others. */
const PACKED = resolve(import.meta.dirname!, "../../.gpu-kit/av.tar.xz");

const TESTS = ["tests/ffmpeg/cuda_gpu_test.ts", "tests/ffmpeg/nvdec_gpu_test.ts"];

/** FFmpeg with CUDA: tests, the example, and the bench. */
export function ffmpeg(job: Job): Promise<Outcome> {
  return withFFmpeg(job, async (job) => {
    const tests = await runTests(job, TESTS, 1);
    const shown = await example(job);
    const measured = await bench(job, "cuda", "nvdec");
    const all = [tests, shown, measured];
    return {
      verdict: all.every(({ verdict }) => verdict === "green") ? "green" : "red",
      counts: all.map(({ counts }) => counts).join("; "),
      failures: all.flatMap(({ failures = [] }) => failures),
      remarks: all.flatMap(({ remarks = [] }) => remarks),
    };
  });
}

/** Does something with FFmpeg's libraries and the clips, where both have travelled here. */
export async function withFFmpeg(job: Job, work: (job: Job) => Promise<Outcome>): Promise<Outcome> {
  const lacking = await isFile(PACKED) ? missingClips() : PACKED;
  if (lacking !== undefined) return { verdict: "not here", counts: lacking };
  const folder = await Deno.makeTempDir({ prefix: "samepage-ffmpeg-" });
  try {
    const { code, how } = await job.run("tar", ["-C", folder, "-xJf", PACKED], "tests.log");
    if (code !== 0) return { verdict: "red", counts: `tar ended with ${how}` };
    return await work(job.withVariables(ffmpegEnv(join(folder, "av.libs"))));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
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
