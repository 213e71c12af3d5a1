// GStreamer's own count of what is alive, by its tracer of leaks, which tells it at the end of a process.

import { assertEquals } from "@std/assert";
import { runModule } from "../process.ts";
import { test } from "./open.ts";

const MEMORY = `
import { host, imageInfo, MapperGraph } from "@samepage/interop";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { gst as c } from "./src/gstreamer/library.ts";
import { caps, CBuffer, memory, Owned } from "./tests/gstreamer/buffers.ts";

const NV12 = "video/x-raw,format=NV12,width=4,height=4";
{
  using gst = GStreamerContext.openSync();
  using graph = new MapperGraph([host, gst]);
  for (let i = 0; i < 20; i++) {
    using made = new CBuffer(memory(24), memory(24));
    made.addVideoMeta("NV12", [4, 4], [0, 24], [4, 4]);
    using sample = made.sample(NV12.replace("4", String(4 + 4 * (i % 12))));
    using frame = gst.attach(sample.address, { caps: NV12 });
    using copy = gst.attach(sample.address, { caps: NV12, copy: "allow" });
    using its = caps(NV12);
    using again = gst.attach(made.address, { caps: its.address });
    using mapped = graph.map(copy, host);
    for (const wrong of ["video/x-raw,format=NV12", "video/x-raw,format=I420,width=4,height=4"]) {
      try {
        gst.attach(made.address, { caps: wrong });
      } catch { /* and nothing of it is left */ }
    }
    using picture = host.allocateFrame(imageInfo({ format: "NV12", width: 4, height: 4 }));
    await using lent = graph.map(picture, gst, { access: "read" });
    new Owned(gst.buffer(lent))[Symbol.dispose]();
  }
  LEAK
}
c().gst_deinit();
`;

const TRACED = { GST_TRACERS: "leaks", GST_DEBUG: "GST_TRACER:7", GST_DEBUG_NO_COLOR: "1" };

/** A line for each object, as `GstBuffer`; the tracer describes its format in others. */
const ALIVE = /object-alive, type-name=\(string\)(Gst\w+)/g;

async function aliveAfter(text: string): Promise<readonly string[]> {
  const { code, stderr } = await runModule(text, { env: TRACED });
  assertEquals(code, 0, stderr);
  return Array.from(stderr.matchAll(ALIVE), ([, type]) => type).sort();
}

test("no buffer, memory, sample and caps are left of frames that have ended", async () => {
  assertEquals(await aliveAfter(MEMORY.replace("LEAK", "")), []);
  assertEquals(await aliveAfter(MEMORY.replace("LEAK", "new CBuffer(memory(1));")), ["GstBuffer", "GstMemory"]);
});
