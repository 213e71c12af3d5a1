// A kernel and the wait for it: C blocks its thread, samepage awaits, and Deno goes on meanwhile.

import { host } from "@samepage/interop";
import type { KernelArgument } from "@samepage/interop/opencl";
import { c } from "./harness/c.ts";
import { device } from "./harness/device.ts";
import { figure } from "./harness/figure.ts";
import { atMost, atMostMore, type Goal } from "./harness/goal.ts";
import type { Operation } from "./harness/operation.ts";
import { here } from "./harness/way.ts";

const KERNELS: readonly {
  readonly id: string;
  readonly kernel: string;
  readonly scalars: readonly KernelArgument[];
  readonly title: string;
  readonly goal: Goal;
}[] = [
  { id: "tiny", kernel: "touch", scalars: [], title: "a kernel of one work-item", goal: atMostMore(10) },
  { id: "millisecond", kernel: "work", scalars: [1_000_000], title: "a kernel of a millisecond", goal: atMost(1.15) },
];

/** Launches a kernel and waits for it, again and again. */
function launchAndWait(name: string, scalars: readonly KernelArgument[]): Operation {
  const { cl, graph, kernel } = device();
  const run = kernel(name);
  const bytes = graph.map(host.allocate({ shape: [64], dtype: "u8" }), cl);
  return {
    async run(count) {
      for (let i = 0; i < count; i++) {
        run.run({ items: [1] }, [bytes, ...scalars]);
        await cl.queue.fence().wait();
      }
    },
  };
}

for (const { id, kernel, scalars, title, goal } of KERNELS) {
  figure({
    id: `wait-${id}`,
    title: `launch ${title}, and await it`,
    goal,
    ways: [c("wait", id), here("samepage", () => launchAndWait(kernel, scalars))],
  });
}
