// A kernel with six arguments: what its launch costs the one who launches it.

import { host } from "@samepage/interop";
import { c } from "./harness/c.ts";
import { device } from "./harness/device.ts";
import { figure } from "./harness/figure.ts";
import { atMost, atMostMore, either } from "./harness/goal.ts";
import { here } from "./harness/way.ts";

/** Enqueues before a finish, which is outside of the clock. */
const MOST = 200;

figure({
  id: "enqueue",
  title: "enqueue a kernel with 6 arguments",
  goal: either(atMost(1.15), atMostMore(1)),
  ways: [
    c("enqueue", "six_arguments"),
    here("samepage", () => {
      const { cl, graph, kernel } = device();
      const six = kernel("six");
      const buffer = () => graph.map(host.allocate({ shape: [64], dtype: "u8" }), cl);
      const [a, b, to] = [buffer(), buffer(), buffer()];
      return {
        most: MOST,
        run(count) {
          for (let i = 0; i < count; i++) six.run([64], [a, b, to, 64, 1, 0.5]);
        },
        settle: () => cl.queue.finish(),
      };
    }),
  ],
});
