import { join } from "@std/path";
import { NEEDS_TWO } from "../../bench/harness/sharing.ts";
import { bench } from "./bench.ts";
import { conformance } from "./conformance.ts";
import { dlpack } from "./dlpack.ts";
import { ffmpeg } from "./ffmpeg.ts";
import {
  ALIGNMENT,
  cudaExamples,
  cudaMisuse,
  cudaTests,
  eglTests,
  faultTests,
  isFile,
  openclTests,
  twoGpuTests,
  ucxTests,
  vulkanTests,
} from "./files.ts";
import { inLanes, type Job } from "./job.ts";
import { openCVHere } from "./opencv.ts";
import { type Packed, withPacked } from "./packed.ts";
import { pipelines } from "./pipeline.ts";
import { pythonHere } from "./python.ts";
import { sanitize, sanitizeSharing } from "./sanitizer.ts";
import { type Outcome, type Step, together } from "./step.ts";
import { runTests } from "./tests.ts";

/** The libraries of the wheel `libucx-cu12`. */
const UCX: Packed = {
  name: "ucx.tar.xz",
  variablesOf: (folder) => ({ LD_LIBRARY_PATH: join(folder, "lib"), LIBRARY_PATH: join(folder, "lib") }),
};

/**
 * All of it. The rows of CUDA's edges, the bench and what Python shares have the machine to themselves: rows and loans
 * count the GPU's free memory, of which a context of any other process takes some 500 MiB, and the bench measures. `misuse` comes last: once its
 * kernels had crashed on an H100, OpenGL's draws timed out in every later process (Xid 109, "CTX SWITCH
 * TIMEOUT"; driver 580.159), and OpenCL's tests beside it hung. `machine` is what the rows say of it; `gpus`, how many
 * it has.
 */
export function stepsOn(machine: string, gpus: number): readonly Step[] {
  return [
    {
      name: "opencv",
      what: "OpenCV is on the machine, for the rows, tests and examples of OpenCV with CUDA",
      limit: 10,
      stage: 1,
      run: () => Promise.resolve(openCVHere()),
    },
    {
      name: "conformance",
      what: "every case on every edge of CUDA's",
      limit: 85 * Math.max(1, gpus) ** 2, // it goes over the edges of each GPU, and of each to each other
      stage: 2,
      run: (job) => conformance(job, machine, "cuda"),
    },
    {
      name: "opencl-rows",
      what: "every case on every edge of OpenCL's, on each platform",
      limit: 60,
      stage: 3,
      run: (job) => conformance(job, machine, "opencl"),
    },
    {
      name: "opencl",
      what: "tests/opencl, on each platform: NVIDIA's moves the bytes of host memory",
      limit: 150,
      stage: 1,
      run: async (job) => runTests(job, await openclTests(), 6),
    },
    {
      name: "tests",
      what: "tests/cuda, and CUDA's tests in other folders",
      limit: 150,
      stage: 1,
      run: async (job) => runTests(job, await cudaTests(), 3),
    },
    {
      name: "faults",
      what: "every native call made to fail",
      limit: 150,
      stage: 1,
      run: async (job) => runTests(job, await faultTests(), 2),
    },
    {
      name: "misuse",
      what: "programs that do what they should not",
      limit: 75,
      stage: 9,
      run: async (job) => runTests(job, await cudaMisuse(), 4),
    },
    {
      name: "egl",
      what: "EGLStreams and EGLImages with CUDA",
      limit: 60,
      stage: 3,
      run: async (job) => runTests(job, await eglTests(), 1),
    },
    {
      name: "egl-rows",
      what: "every case on every edge of EGL's",
      limit: 120,
      stage: 1,
      run: (job) => conformance(job, machine, "egl"),
    },
    { name: "examples", what: "CUDA's examples", limit: 120, stage: 1, run: examples },
    {
      name: "memcheck",
      what: "compute-sanitizer over the tests and the examples: errors, and leaks",
      limit: 150,
      stage: 1,
      run: (job) => sanitize(job, "memcheck", true),
    },
    { name: "bench", what: "beside C: bench/cuda_*_bench.ts", limit: 200, stage: 4, run: (job) => bench(job, "cuda") },
    {
      name: "racecheck",
      what: "compute-sanitizer over the examples: races in shared memory",
      limit: 50,
      stage: 3,
      run: (job) => sanitize(job, "racecheck", false),
    },
    {
      name: "initcheck",
      what: "compute-sanitizer over the examples: memory that is read before it was written",
      limit: 50,
      stage: 3,
      run: (job) => sanitize(job, "initcheck", false),
    },
    {
      name: "alignment",
      what: "OpenCL at every address, on NVIDIA's platform: CI tries the others",
      limit: 60,
      stage: 3,
      run: (job) => runTests(job, [{ path: ALIGNMENT, only: "nvidia: " }], 1),
    },
    {
      name: "ffmpeg",
      what: "FFmpeg's CUDA frames and NVDEC: tests, examples/nvdec-cuda, and bench/ffmpeg_nvdec_bench.ts",
      limit: 150,
      stage: 7,
      onlyIfNamed: true,
      run: ffmpeg,
    },
    {
      name: "dlpack",
      what: "PyTorch, CuPy and JAX on memory of ours, and ours on theirs: tests, and bench/cuda_python_bench.ts",
      limit: 90,
      stage: 6,
      onlyIfNamed: true,
      run: dlpack,
    },
    {
      name: "pipeline",
      what: "pipelines: the host's frames and NVDEC's through kernels of CUDA's and PyTorch, to the host",
      limit: 90,
      stage: 1,
      onlyIfNamed: true,
      run: pipelines,
    },
    {
      name: "vulkan",
      what: "tests/vulkan: memory and semaphores between Vulkan, OpenCL and CUDA, one file after the other",
      limit: 300,
      stage: 5,
      onlyIfNamed: true,
      run: sharing,
    },
    {
      name: "two-gpus",
      what: "what two GPUs share: memory, semaphores, streams, arrays of Python's, and the rings between them",
      limit: 90,
      stage: 8,
      onlyIfNamed: true,
      run: (job) => twoGpus(job, gpus),
    },
    {
      name: "vulkan-memcheck",
      what: "compute-sanitizer over the tests between Vulkan, OpenCL and CUDA, the rings among them",
      limit: 240,
      stage: 5,
      onlyIfNamed: true,
      run: sanitizeSharing,
    },
    {
      name: "vulkan-rows",
      what: "every case on every edge of Vulkan's",
      limit: 240,
      stage: 1,
      onlyIfNamed: true,
      run: (job) => conformance(job, machine, "vulkan"),
    },
    {
      name: "ucx",
      what: "tests/ucx: memory and rings over UCX, with the version that the machine has",
      limit: 90,
      stage: 1,
      onlyIfNamed: true,
      run: async (job) => runTests(job, await ucxTests(), 3),
    },
    {
      name: "ucx-cuda",
      what: "the same with UCX of the wheel libucx-cu12, which has transports for CUDA's memory",
      limit: 120,
      stage: 4,
      onlyIfNamed: true,
      run: (job) => withPacked(job, UCX, ucxWithCuda),
    },
    {
      name: "opencv-rows",
      what: "every case on every edge of OpenCV's, of OpenCL's images and of its shared virtual memory",
      limit: 400,
      stage: 5,
      onlyIfNamed: true,
      run: (job) => conformance(job, machine, "opencv", ["image", "svm", "opencv"]),
    },
    {
      name: "streams",
      what: "beside C: bench/egl_stream_bench.ts, which the whole bench has too",
      limit: 60,
      stage: 3,
      onlyIfNamed: true,
      run: (job) => bench(job, "cuda", "egl-stream"),
    },
    {
      name: "rings",
      what: "beside C: bench/external_*_bench.ts",
      limit: 240,
      stage: 4,
      onlyIfNamed: true,
      run: (job) => bench(job, "vulkan"),
    },
  ];
}

/** It counts the GPU's free memory. */
const COUNTING = "tests/ucx/cuda_gpu_test.ts";

/** UCX's tests, and how fast a GPU's frames cross. */
async function ucxWithCuda(job: Job): Promise<Outcome> {
  const others = (await ucxTests()).filter((path) => path !== COUNTING);
  return together([
    await runTests(job, others, 3),
    await runTests(job, [COUNTING], 1),
    await bench(job, "cuda", "ucx-cuda"),
  ]);
}

async function examples(job: Job): Promise<Outcome> {
  const files = await cudaExamples();
  const ends = await inLanes(files, 2, async (file) => {
    const { code, how } = await job.deno(["run", "-A", "--no-check", file], "tests.log");
    return code === 0 ? [] : [`${file}: it ended with ${how}`];
  });
  const failures = ends.flat();
  const counts = `${files.length - failures.length} of ${files.length} ran`;
  return { verdict: failures.length === 0 && files.length > 0 ? "green" : "red", counts, failures };
}

/** Vulkan's tests; their lines about the rings are remarks. */
async function sharing(job: Job): Promise<Outcome> {
  const files = await vulkanTests();
  return await withRemarks(job, /^ring: .*$/gm, () => runTests(job, files, 1));
}

/** The tests of two GPUs, and those in other files that need two; their lines about rings and GPUs are remarks. */
async function twoGpus(job: Job, gpus: number): Promise<Outcome> {
  if (gpus < 2) return { verdict: "not here", counts: NEEDS_TWO };
  const there = job.withVariables(await pythonHere() ?? {});
  const files = await twoGpuTests();
  return await withRemarks(job, /^(?:ring|two GPUs): .*$/gm, () => runTests(there, files, 2));
}

/** Runs a step that is alone in its stage, and adds the lines that it wrote to the log, where they match, as remarks. */
async function withRemarks(job: Job, lines: RegExp, run: () => Promise<Outcome>): Promise<Outcome> {
  const path = join(job.out, "tests.log");
  const before = await isFile(path) ? (await Deno.readTextFile(path)).length : 0;
  const outcome = await run();
  const log = (await Deno.readTextFile(path)).slice(before);
  return { ...outcome, remarks: [...log.match(lines) ?? [], ...outcome.remarks ?? []] };
}
