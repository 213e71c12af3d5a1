// A kernel with six arguments: what its launch costs the one who launches it.

import { host } from "@samepage/interop";
import { c } from "./harness/c.ts";
import { device } from "./harness/device.ts";
import { figure } from "./harness/figure.ts";
import { atMost, atMostMore, either } from "./harness/goal.ts";
import type { Operation } from "./harness/operation.ts";
import { here } from "./harness/way.ts";

/** Enqueues before a finish, which is outside of the clock. */
const MOST = 200;

/** A millisecond of work. */
const TURNS = 1_000_000;

/** Launches kernels; `busy` behind one that runs for a while, so that none of them has to wake the driver's threads. */
function launching(busy: boolean): Operation {
  const { cl, graph, kernel } = device();
  const six = kernel("six");
  const work = kernel("work");
  const buffer = () => graph.map(host.allocate({ shape: [64], dtype: "u8" }), cl);
  const [a, b, to] = [buffer(), buffer(), buffer()];
  return {
    most: MOST,
    ...(busy ? { prepare: () => work.run({ items: [1] }, [to, TURNS]) } : {}),
    run(count) {
      for (let i = 0; i < count; i++) six.run({ items: [64] }, [a, b, to, 64, 1, 0.5]);
    },
    settle: () => cl.queue.finish(),
  };
}

for (const [id, state] of Object.entries({ busy: "device busy", idle: "device idle" })) {
  figure({
    id: `enqueue-${id}`,
    title: `enqueue 6 arguments and a kernel, ${state}`,
    goal: either(atMost(1.15), atMostMore(1)),
    ways: [c("enqueue", id), here("samepage", () => launching(id === "busy"))],
  });
}
