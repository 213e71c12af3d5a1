// A CUDA kernel with six arguments that does nothing: what its launch costs the one who launches it.

import { cudaC } from "./harness/c.ts";
import { gpu } from "./harness/cuda.ts";
import { figure } from "./harness/figure.ts";
import { atMost } from "./harness/goal.ts";
import { here } from "./harness/way.ts";

/** Launches before a finish, which is outside of the clock: a stream holds about a thousand. */
const MOST = 200;

const BYTES = 64;

figure({
  id: "cuda-launch",
  title: "launch a kernel with 6 arguments",
  on: "cuda",
  goal: atMost(1.15),
  ways: [
    cudaC("cuda_launch", "six"),
    here("samepage", () => {
      const { cuda, kernel } = gpu();
      const six = kernel("six");
      const [a, b, to] = [0, 1, 2].map(() => cuda.allocate({ shape: [BYTES], dtype: "u8" }));
      const sizes = { grid: [1], block: [BYTES] };
      return {
        most: MOST,
        run(count) {
          for (let i = 0; i < count; i++) six.run(sizes, [a, b, to, BYTES, 1, 0.5]);
        },
        settle: () => cuda.stream.finish(),
      };
    }),
  ],
});
