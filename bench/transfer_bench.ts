// A frame to the device and back, and nothing done there: in place, and by copying.

import { c } from "./harness/c.ts";
import { device } from "./harness/device.ts";
import { figure } from "./harness/figure.ts";
import { FRAME, makeFrame } from "./harness/frame.ts";
import { faster } from "./harness/goal.ts";
import { here } from "./harness/way.ts";

figure({
  id: "transfer",
  title: "a frame to the device and back, no kernel",
  goal: faster(40),
  ways: [
    c("copy", "write_read", "C, copying"),
    here("samepage", () => {
      const { cl, graph } = device();
      const frame = makeFrame();
      const done = cl.queue.fence();
      return {
        run(count) {
          for (let i = 0; i < count; i++) {
            const onDevice = graph.map(frame, cl);
            onDevice.usedBy(done); // work was done on it: else there would be nothing to bring back
            onDevice[Symbol.dispose]();
          }
        },
      };
    }),
    here("samepage, copying", () => {
      const { cl } = device();
      using frame = makeFrame();
      const bytes = frame.view().slice();
      const buffer = cl.allocate(FRAME);
      return {
        run(count) {
          for (let i = 0; i < count; i++) {
            cl.queue.write(buffer, bytes);
            cl.queue.read(buffer, bytes);
          }
        },
      };
    }),
  ],
});
