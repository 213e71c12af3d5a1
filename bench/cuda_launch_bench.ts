// A CUDA kernel with six arguments that does nothing: what its launch costs the one who launches it, and how much of that
// is the price of C's one native call when Deno makes it.

import { NULL } from "../ffi/address.ts";
import type { CUfunction } from "../ffi/cuda_driver/handles.ts";
import { Sizes } from "../src/core/device/grid.ts";
import { LaunchMemory } from "../src/cuda/kernels/launch_memory.ts";
import { parametersIn } from "../src/cuda/kernels/declared.ts";
import { checkDriver } from "../src/cuda/errors.ts";
import { cudaDriver } from "../src/cuda/library.ts";
import { cudaC } from "./harness/c.ts";
import { gpu } from "./harness/cuda.ts";
import { figure } from "./harness/figure.ts";
import { atMost } from "./harness/goal.ts";
import { here } from "./harness/way.ts";

/** Launches before a finish, which is outside of the clock: a stream holds about a thousand. */
const MOST = 200;

const BYTES = 64;

let made: ReturnType<typeof make> | undefined;

/** The kernel, what it takes, and the stream: kept for all ways, as what a call alone is given keeps nothing alive. */
function launching() {
  return made ??= make();
}

function make() {
  const { cuda, kernel } = gpu();
  const [a, b, to] = [0, 1, 2].map(() => cuda.allocate({ shape: [BYTES], dtype: "u8" }));
  return { six: kernel("six"), args: [a, b, to, BYTES, 1, 0.5] as const, stream: cuda.stream };
}

figure({
  id: "cuda-launch",
  title: "launch a kernel with 6 arguments",
  on: "cuda",
  goal: atMost(1.10),
  ways: [
    cudaC("cuda_launch", "six"),
    here("samepage", () => {
      const { six, args: [a, b, to, n, add, scale], stream } = launching();
      const sizes = { groups: [1], groupSize: [BYTES] };
      return {
        most: MOST,
        run(count) {
          for (let i = 0; i < count; i++) six.run(sizes, [a, b, to, n, add, scale]);
        },
        settle: () => stream.finish(),
      };
    }),
    here("Deno, the call alone", () => {
      const { six: { handle, name, parameters }, args, stream } = launching();
      const launch = { api: "cuda", fn: "cuLaunchKernelEx", kernel: name };
      const declared = parametersIn(parameters.map(({ type }) => type), name);
      const memory = new LaunchMemory(declared.map(({ parameter }) => parameter));
      const sizes = {
        groups: new Sizes(launch, "groups", 1, [1]),
        groupSize: new Sizes(launch, "groupSize", 1, [BYTES]),
      };
      sizes.groups.take([1]);
      sizes.groupSize.take([BYTES]);
      memory.take(args, stream.context);
      memory.configure(sizes, 0, stream.handle);
      const { cuLaunchKernelEx } = cudaDriver();
      const launched = handle as bigint as CUfunction;
      return {
        most: MOST,
        run(count) {
          for (let i = 0; i < count; i++) {
            checkDriver(cuLaunchKernelEx(memory.config, launched, memory.args, NULL), "cuLaunchKernelEx");
          }
        },
        settle: () => stream.finish(),
      };
    }),
  ],
});
