// A cropped frame of FFmpeg's, a strided slice of it, and OpenCV on the device: three layouts over the same bytes.

import { assertEquals } from "@std/assert";
import { type Frame, host, MapperGraph, region } from "@samepage/interop";
import { OpenCVContext } from "@samepage/interop/opencv";
import { core } from "../../src/opencv/library.ts";
import { noArray } from "../../src/opencv/slots.ts";
import { openPoCL, withOpenCL } from "../opencv/help.ts";
import { CFrame, inC } from "./frames.ts";
import { testOpen, value } from "./open.ts";

testOpen("crop × strided slices × UMat: OpenCV inverts the part, and nothing beside it", async (open) => {
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, open.ffmpeg, cl, cv]);
  using made = CFrame.picture("gray", 64, 32, 64);
  inC().set_crop(made.pointer, 8, 4, 8, 4); // left, top, right, bottom
  using frame = open.attach(made) as Frame;
  const [plane] = frame.planes;
  assertEquals([plane.layout.shape, plane.layout.strides], [[24, 48], [64, 1]]);
  {
    using part = plane.slice(region(plane.layout, [2, 3], [8, 16]));
    assertEquals(part.layout.shape, [8, 16]);
    await using umat = graph.map(part, cv.umat);
    assertEquals(umat.route!.bytesMoved, 0);
    const execution = umat.buffer.execution!;
    execution.run(() => core().bitwise_not(umat.slot.input, umat.slot.output, noArray()));
    umat.usedBy(execution.queue.line.waitFor([]));
  }
  const seen = (x: number, y: number) => inC().pixel(made.pointer, 0, x, y);
  for (const [x, y] of [[8 + 3, 4 + 2], [8 + 18, 4 + 9]]) assertEquals(seen(x, y), value("gray", 0, x, y) ^ 0xff);
  for (const [x, y] of [[8 + 2, 4 + 2], [8 + 19, 4 + 9], [8 + 3, 4 + 10]]) {
    assertEquals(seen(x, y), value("gray", 0, x, y));
  }
}, withOpenCL ? undefined : "OpenCV and PoCL");
