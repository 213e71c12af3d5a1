/** What other APIs make of a frame of columns. */
import { assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, Frame, host, type HostTensor, MapperGraph, NoRouteError } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import type { Reason } from "../../src/core/errors.ts";
import { IMAGES } from "../../src/core/graph/image_ports.ts";
import { hasDevice } from "../opencl/present.ts";
import { testOpen as inFFmpeg } from "../ffmpeg/open.ts";
import { testOpen as inGStreamer } from "../gstreamer/open.ts";
import { withEmptyLedger } from "../unit/ledger.ts";

function table() {
  const planes = [
    host.allocate({ shape: [64, 4], dtype: "u8" }),
    host.allocate({ shape: [64], dtype: "f32" }),
  ];
  const columns = [{ name: "pixel", dtype: "u8", shape: [4] }, { name: "x", dtype: "f32", shape: [] }] as const;
  return Frame.of<(typeof planes)[number]>(planes, { type: "table", format: "mine", rows: 64, columns });
}

Deno.test({
  name: "graph.map() has all columns of a table as OpenCL buffers, and none as images",
  ignore: !hasDevice(),
  fn: withEmptyLedger(async () => {
    using cl = OpenCLContext.open();
    using graph = new MapperGraph([host, cl]);
    using frame = table();
    {
      await using mapped = graph.map(frame, cl);
      assertEquals(mapped.planes.map(({ shape, dtype }) => [shape, dtype]), [[[64, 4], "u8"], [[64], "f32"]]);
      assertEquals(cl.bytesCopied, 0);
      cl.queue.fill(mapped.planes[1], 2.5);
    }
    const [, x] = frame.planes as readonly HostTensor[];
    assertEquals(x.view()[63], 2.5);
    assertThrows(() => graph.map(frame, cl.image({ order: "R", type: "UNORM_INT8" })), NoRouteError, "dtype");
    const { reason } = IMAGES.refuse!(frame.described, cl) as Reason;
    assertEquals(reason, "this edge takes images, and the frame is a table.");
  }),
});

inFFmpeg("a table is not a frame for FFmpeg", ({ ffmpeg, graph }) => {
  using frame = table();
  using mapped = graph.map(frame, ffmpeg, { access: "read" });
  assertThrows(() => ffmpeg.avFrame(mapped), ArgumentError, "expected pixels, got a table");
});

inGStreamer("a table is not a frame for GStreamer", ({ gst, graph }) => {
  using frame = table();
  using mapped = graph.map(frame, gst, { access: "read" });
  assertThrows(() => gst.buffer(mapped), ArgumentError, "expected pixels, got a table");
});
