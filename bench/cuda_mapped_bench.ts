// A kernel that reads a frame of mapped pinned memory, and one that writes it: how much they get through in a time.

import type { CudaTensor } from "@samepage/interop/cuda";
import { cudaC } from "./harness/c.ts";
import { FRAME_BYTES, gpu, pieces } from "./harness/cuda.ts";
import { figure } from "./harness/figure.ts";
import { throughput } from "./harness/goal.ts";
import type { Operation } from "./harness/operation.ts";
import { here, moving } from "./harness/way.ts";
import { bytesOf, makePinned } from "./operations/pinned.ts";

const WORD = 0x5a5aa5a5;

/** Launches it again and again; the clock sees the end of the last. */
function launching(launch: () => void): Operation["run"] {
  const { cuda } = gpu();
  return (count) => {
    for (let i = 0; i < count; i++) launch();
    cuda.stream.finish();
  };
}

function reading(): Operation {
  const { cuda, kernel } = gpu();
  const readAll = kernel("read_all");
  const frame = makePinned(FRAME_BYTES);
  const sum = cuda.allocate({ shape: [1], dtype: "u32" });
  const { count, launch } = pieces(FRAME_BYTES);
  const run = launching(() => readAll.run(launch, [frame, count, sum]));
  cuda.stream.fill(sum, 0);
  run(1);
  assertSum(sum, wordsOf(frame).reduce((all, word) => all ^ word, 0) >>> 0);
  return { run };
}

function writing(): Operation {
  const { kernel } = gpu();
  const writeAll = kernel("write_all");
  const frame = makePinned(FRAME_BYTES);
  const { count, launch } = pieces(FRAME_BYTES);
  const run = launching(() => writeAll.run(launch, [frame, count, WORD]));
  run(1);
  if (!wordsOf(frame).every((word) => word === WORD)) throw new Error("the kernel has not written every word");
  return { run };
}

function wordsOf(frame: CudaTensor): Uint32Array {
  return new Uint32Array(bytesOf(frame).buffer);
}

function assertSum(sum: CudaTensor, expected: number): void {
  const found = new Uint32Array(1);
  gpu().cuda.stream.read(sum, found);
  if (found[0] !== expected) throw new Error("the kernel has read something else");
}

const KERNELS = {
  read: { title: "a kernel reads a frame of mapped memory", operation: reading, copy: "copy_in" },
  write: { title: "a kernel writes a frame of mapped memory", operation: writing, copy: "copy_out" },
} as const;

for (const [id, { title, operation, copy }] of Object.entries(KERNELS)) {
  figure({
    id: `cuda-mapped-${id}`,
    title,
    on: "cuda",
    goal: throughput(0.98),
    ways: [
      moving(FRAME_BYTES, cudaC("cuda_mapped", id)),
      moving(FRAME_BYTES, here("samepage", operation)),
      moving(FRAME_BYTES, cudaC("cuda_mapped", copy, "C, cudaMemcpyAsync")),
    ],
  });
}
