// The same bytes to the device and back: in place, and by copying.

import { c } from "./harness/c.ts";
import { device } from "./harness/device.ts";
import { figure } from "./harness/figure.ts";
import { FRAME, makeFrame } from "./harness/frame.ts";
import { faster } from "./harness/goal.ts";
import { here } from "./harness/way.ts";

figure({
  id: "transfer",
  title: "a frame to the device and back",
  goal: faster(40),
  ways: [
    c("copy", "write_touch_read", "C, copying"),
    here("samepage", () => {
      const { cl, graph, kernel } = device();
      const frame = makeFrame();
      const touch = kernel("touch");
      return {
        run(count) {
          for (let i = 0; i < count; i++) {
            const before = frame.view()[0];
            const onDevice = graph.map(frame, cl);
            touch.run([1], [onDevice]);
            onDevice[Symbol.dispose]();
            if (frame.view()[0] !== (before ^ 1)) throw new Error("the byte was not changed");
          }
        },
      };
    }),
    here("samepage, copying", () => {
      const { cl, kernel } = device();
      using frame = makeFrame();
      const bytes = new Uint8Array(frame.view());
      const buffer = cl.allocate(FRAME);
      const touch = kernel("touch");
      return {
        run(count) {
          for (let i = 0; i < count; i++) {
            cl.queue.write(buffer, bytes);
            touch.run([1], [buffer]);
            cl.queue.read(buffer, bytes);
          }
        },
      };
    }),
  ],
});
