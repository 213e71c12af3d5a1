/** Elements of GStreamer's that write into dma-bufs of the kernel's, and where their frames go from there: in the guest. */
import { assertEquals, assertThrows } from "@std/assert";
import { AccessError, type Frame, host, imageInfo, ledger, MapperGraph } from "../../mod.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { dmabuf, type DmaBufTensor } from "../../src/dmabuf/mod.ts";
import { GStreamerContext } from "../../src/gstreamer/mod.ts";
import type { HostTensor } from "../../src/host/mod.ts";
import { assertAlive } from "../alive.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import { guestTest } from "./needs.ts";

const PICTURES =
  "videotestsrc pattern=ball num-buffers=8 ! video/x-raw,format=NV12,width=320,height=240,framerate=30/1 ! appsink name=out sync=false";

type Pixels = Frame<HostTensor>;

function test(name: string, fn: (gst: GStreamerContext) => unknown): void {
  guestTest(`gstreamer into: ${name}`, async () => {
    dmabuf.allocate({ shape: [1], dtype: "u8" })[Symbol.dispose]();
    GStreamerContext.openSync()[Symbol.dispose]();
    const [alive, fds] = [ledger.alive, openFds()];
    {
      using gst = GStreamerContext.openSync({ on: dmabuf });
      await fn(gst);
    }
    await assertAlive(alive, "alive after the test");
    assertOpenFds(fds);
  });
}

for (const rowAlign of [1, 512]) {
  test(`frames are udmabufs, each with an fd, and have rows at multiples of ${rowAlign}`, async (gst) => {
    using graph = new MapperGraph([host, dmabuf, gst]);
    const theirs: Uint8Array[] = [];
    {
      await using pipeline = gst.launch(PICTURES);
      for await (using frame of pipeline.sink("out")) {
        using seen = graph.map(frame, host, { access: "read" }) as Pixels;
        for (const plane of seen.planes) theirs.push(pixelsOf(plane));
      }
    }
    const ours: Uint8Array[] = [];
    await using pipeline = gst.launch(PICTURES);
    for await (using frame of pipeline.sink("out", { into: dmabuf, slots: 10, rowAlign })) {
      assertEquals(frame.target, dmabuf);
      for (const plane of (frame as Frame<DmaBufTensor>).planes) {
        assertEquals(plane.layout.strides[0] % rowAlign, 0);
        const fd = plane.exportFd();
        using again = dmabuf.attach(fd, { ...plane.layout, shape: [...plane.layout.shape] });
        closeFd(fd);
        assertEquals(again.grants[0].allocation, plane.grants[0].allocation); // so it is refused while elements write
        assertThrows(() => graph.map(again, host, { access: "read" }), AccessError, "are lent");
      }
      using seen = graph.map(frame, host, { access: "read" }) as Pixels;
      assertEquals(seen.route.bytesMoved, 0);
      for (const plane of seen.planes) ours.push(pixelsOf(plane));
    }
    assertEquals(ours, theirs);
  });
}

function pixelsOf(plane: HostTensor): Uint8Array {
  const { shape: [rows, ...row], strides: [stride] } = plane.layout;
  const width = row.reduce((length, size) => length * size, 1);
  const bytes = plane.bytes({ access: "read" });
  const pixels = new Uint8Array(rows * width);
  for (let y = 0; y < rows; y++) pixels.set(bytes.subarray(y * stride, y * stride + width), y * width);
  return pixels;
}

test("what elements have written goes on to GStreamer as a dma-buf, in another pipeline", async (gst) => {
  using graph = new MapperGraph([host, dmabuf, gst]);
  const info = { ...imageInfo({ format: "NV12", width: 320, height: 240 }), media: { frameRate: [30, 1] as const } };
  await using from = gst.launch(PICTURES);
  await using to = gst.launch("appsrc name=in ! videoconvert ! video/x-raw,format=GRAY8 ! appsink name=out sync=false");
  const writer = to.source("in", info).getWriter();
  const frames = to.sink("out")[Symbol.asyncIterator]();
  let count = 0;
  for await (const frame of from.sink("out", { into: dmabuf, slots: 10 })) {
    let luma = 0;
    {
      using seen = graph.map(frame, host, { access: "read" }) as Pixels;
      luma = seen.planes[0].bytes({ access: "read" })[320 * 120 + 160];
    }
    await writer.write(frame);
    frame[Symbol.dispose]();
    using grey = (await frames.next()).value as Frame;
    using seen = graph.map(grey, host, { access: "read" }) as Pixels;
    assertEquals(Math.abs(seen.planes[0].bytes({ access: "read" })[320 * 120 + 160] - luma) <= 40, true);
    count++;
  }
  assertEquals(count, 8);
  await writer.close();
});
