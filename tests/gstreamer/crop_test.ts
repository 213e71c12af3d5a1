// A GstBuffer whose crop begins inside, and OpenCV on the device: what is shown, and nothing beside it.

import { assertEquals } from "@std/assert";
import { host, MapperGraph } from "@samepage/interop";
import { OpenCVContext } from "@samepage/interop/opencv";
import { core } from "../../src/opencv/library.ts";
import { noArray } from "../../src/opencv/slots.ts";
import { openPoCL, withOpenCL } from "../opencv/help.ts";
import { addressIn, CBuffer, memory } from "./buffers.ts";
import { testOpen } from "./open.ts";

const STRIDE = 64;

testOpen("GstBuffer × crop × UMat: OpenCV inverts the part that is shown, of each plane", async (open) => {
  using cl = openPoCL();
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, open.gst, cl, cv]);
  using given = new CBuffer(memory(STRIDE * 13));
  // OpenCV's kernels want rows at multiples of 16 bytes, and malloc promises fewer.
  const first = STRIDE - Number(addressIn(given) % BigInt(STRIDE));
  given.addVideoMeta("NV12", [8, 8], [first, first + STRIDE * 8], [STRIDE, STRIDE]);
  given.addCrop(2, 4, 4, 2); // x, y, width, height
  using frame = open.gst.attach(given.address);
  for (const plane of frame.planes) {
    await using umat = graph.map(plane, cv.umat);
    assertEquals(umat.route!.bytesMoved, 0);
    const execution = umat.buffer.execution!;
    execution.run(() => core().bitwise_not(umat.slot.input, umat.slot.output, noArray()));
    umat.usedBy(execution.queue.line.waitFor([]));
  }
  // Two rows of luma, and one of chroma, which is two bytes for two pixels.
  const shown = [[4, 2, 6], [5, 2, 6], [8 + 2, 2, 6]];
  const bytes = new Uint8Array(given.bytes().buffer);
  for (const [at, byte] of bytes.entries()) {
    const place = at - first;
    const isShown = shown.some(([row, from, to]) => place >= row * STRIDE + from && place < row * STRIDE + to);
    const was = at & 0xff;
    assertEquals(byte, isShown ? was ^ 0xff : was, `byte ${place % STRIDE} of row ${Math.floor(place / STRIDE)}`);
  }
}, withOpenCL ? undefined : "OpenCV and PoCL");
