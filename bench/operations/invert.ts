import { device } from "../harness/device.ts";
import { assertInverse, FRAME, makeFrame, PIXELS } from "../harness/frame.ts";
import type { Operation } from "../harness/operation.ts";

/** Maps a frame to the device, inverts it there, unmaps it and looks at it. */
export function inverting(): Operation {
  const { cl, graph, kernel } = device();
  const frame = makeFrame();
  const invert = kernel("invert");
  const last = frame.layout.byteLength - 1;
  const run = (count: number) => {
    for (let i = 0; i < count; i++) {
      const before = frame.view()[last];
      const onDevice = graph.map(frame, cl);
      invert.run({ items: [PIXELS] }, [onDevice]);
      onDevice[Symbol.dispose]();
      if (frame.view()[last] !== 255 - before) throw new Error("the frame was not inverted");
    }
  };
  const before = frame.view().slice();
  run(1);
  assertInverse(frame.view(), before);
  return { run };
}

/** The same by copying: written to a buffer of the driver's own, and read from it. */
export function invertingACopy(): Operation {
  const { cl, kernel } = device();
  using frame = makeFrame();
  const bytes = frame.view().slice();
  const buffer = cl.allocate(FRAME);
  const invert = kernel("invert");
  const run = (count: number) => {
    for (let i = 0; i < count; i++) {
      cl.queue.write(buffer, bytes);
      invert.run({ items: [PIXELS] }, [buffer]);
      cl.queue.read(buffer, bytes);
    }
  };
  const before = bytes.slice();
  run(1);
  assertInverse(bytes, before);
  return { run };
}
