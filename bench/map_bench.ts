// Host memory as a buffer of OpenCL's: the map alone, with a view, with a kernel over a whole frame.

import { c } from "./harness/c.ts";
import { device } from "./harness/device.ts";
import { figure } from "./harness/figure.ts";
import { makeFrame } from "./harness/frame.ts";
import { atMost, atMostMore } from "./harness/goal.ts";
import { here } from "./harness/way.ts";
import { inverting } from "./operations/invert.ts";

figure({
  id: "map-kernel-unmap",
  title: "map a frame, invert it, unmap, look at it",
  goal: atMost(1.1),
  ways: [
    c("map", "map_kernel_unmap"),
    here("samepage", inverting),
  ],
});

figure({
  id: "map",
  title: "map a frame and dispose it",
  goal: atMostMore(1.5),
  ways: [
    c("map", "create_release"),
    here("samepage", () => {
      const { cl, graph } = device();
      const frame = makeFrame();
      return {
        run(count) {
          for (let i = 0; i < count; i++) graph.map(frame, cl)[Symbol.dispose]();
        },
      };
    }),
  ],
});

figure({
  id: "map-view",
  title: "map a frame that has a view, and dispose it",
  goal: atMostMore(3),
  ways: [
    c("map", "create_release"),
    here("samepage", () => {
      const { cl, graph } = device();
      const frame = makeFrame();
      return {
        run(count) {
          for (let i = 0; i < count; i++) {
            frame.view();
            graph.map(frame, cl)[Symbol.dispose]();
          }
        },
      };
    }),
  ],
});
