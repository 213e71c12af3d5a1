// GStreamer's own count of what is alive, by its tracer of leaks, which reports it at the end of a process.

import { assertEquals } from "@std/assert";
import { leftBy } from "./leaks.ts";
import { test } from "./open.ts";

const MEMORY = `
  const NV12 = "video/x-raw,format=NV12,width=4,height=4";
  const { caps, CBuffer, memory, Owned } = await import("./tests/gstreamer/buffers.ts");
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
  }`;

test("no buffer, memory, sample and caps are left of frames that have ended", async () => {
  assertEquals(await leftBy(MEMORY), []);
  assertEquals((await leftBy(`${MEMORY} new CBuffer(memory(1));`)).sort(), ["GstBuffer", "GstMemory"]);
});
