/**
 * What Intel DL Streamer's mappers of GstBuffers get wrong, by its numbers in docs/guides/dlstreamer.md, as cases: 2, 3, 8, 11 and
 * 15.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, DisposedError, type Frame, host, type ImageInfo } from "@samepage/interop";
import type { GStreamerTensor } from "@samepage/interop/gstreamer";
import { collect } from "../gc.ts";
import { warningsOf } from "../warnings.ts";
import { CBuffer, memory, planesOf } from "./buffers.ts";
import { testOpen } from "./open.ts";

const NV12 = "video/x-raw,format=NV12,width=4,height=4";

testOpen("DL Streamer 2: the same buffer with another shape is of the shape that was asked for", (open) => {
  using made = new CBuffer(memory(96));
  for (const [width, height] of [[4, 4], [8, 2], [2, 8], [4, 4]]) {
    using frame = open.gst.attach(made.address, {
      caps: NV12.replace("width=4,height=4", `width=${width},height=${height}`),
    });
    using seen = open.map(frame);
    assertEquals([(frame.info as ImageInfo).width, seen.planes[0].shape], [width, [height, width]]);
  }
});

testOpen("DL Streamer 2: plane 1 of a shared buffer is not plane 0", (open) => {
  using made = new CBuffer(memory(24));
  using frame = open.gst.attach(made.address, { caps: NV12 }) as Frame<GStreamerTensor>;
  using luma = open.graph.map(frame.planes[0], host, { access: "read" });
  using chroma = open.graph.map(frame.planes[1], host, { access: "read" });
  assertEquals([luma.view()[0], chroma.view()[0], chroma.address - luma.address], [0, 16, 16n]);
});

testOpen("DL Streamer 2: an address that comes again is no old frame", (open) => {
  const seen = new Set<bigint>();
  let again = 0;
  for (let i = 1; i < 50; i++) {
    using made = new CBuffer(memory(24, i));
    using frame = open.gst.attach(made.address, { caps: NV12 }) as Frame<GStreamerTensor>;
    const [{ address }] = frame.planes;
    if (seen.has(address)) again++;
    seen.add(address);
    using mapped = open.map(frame);
    assertEquals([mapped.planes[0].view()[0], mapped.planes[1].view()[0]], [i, 16 + i]);
  }
  assert(again > 0, "no address came again: this shows nothing");
});

testOpen("DL Streamer 2: caps whose address comes again are read again", (open) => {
  using made = new CBuffer(memory(600));
  for (let i = 0; i < 40; i++) { // each sample's caps end with it, but for those that a context has kept
    const width = 4 + 4 * (i % 9);
    using sample = made.sample(NV12.replace("width=4", `width=${width}`));
    using frame = open.gst.attach(sample.address);
    assertEquals((frame.info as ImageInfo).width, width);
  }
});

testOpen("DL Streamer 2: a map for reading gives no right to write", (open) => {
  using made = new CBuffer(memory(24));
  using frame = open.gst.attach(made.address, { caps: NV12, access: "read" });
  using mapped = open.map(frame);
  assertEquals(mapped.access, "read");
  assertThrows(() => open.map(frame, "read-write"), AccessError);
});

testOpen("DL Streamer 3: what is mapped keeps the buffer that it came from", async (open) => {
  const made = new CBuffer(memory(24));
  let mapped: ReturnType<typeof open.map> | undefined;
  const warnings = await warningsOf(async () => {
    mapped = open.map(open.gst.attach(made.address, { caps: NV12 })); // the frame itself is forgotten
    await collect();
    assertEquals([mapped.planes[1].view()[2], made.references], [18, 2]);
    mapped.parent![Symbol.dispose]();
  });
  assertEquals([warnings, made.references], [[], 1]);
  assertThrows(() => mapped!.planes[1].view(), DisposedError);
  made[Symbol.dispose]();
});

testOpen("DL Streamer 8: the offset of a plane is kept, in memories and in maps", (open) => {
  using made = new CBuffer(memory(20), memory(4096 + 24, 100));
  made.addVideoMeta("NV12", [4, 4], [4, 20 + 4096], [4, 4]);
  using frame = open.gst.attach(made.address) as Frame<GStreamerTensor>;
  assertEquals(frame.planes.map(({ address }) => address), planesOf(made.address, NV12).map(({ address }) => address));
  using mapped = open.map(frame);
  assertEquals(mapped.planes.map((plane) => plane.view()[0]), [4, (100 + 4096) & 0xff]);
});

testOpen("DL Streamer 11: a tensor does not outlive its frame, and a frame outlives its sample", (open) => {
  const made = new CBuffer(memory(24));
  const sample = made.sample(NV12);
  made[Symbol.dispose]();
  const frame = open.gst.attach(sample.address);
  sample[Symbol.dispose]();
  const [, chroma] = frame.planes as readonly GStreamerTensor[];
  using seen = open.graph.map(chroma, host, { access: "read" });
  const view = seen.view();
  assertEquals(view[3], 19);
  frame[Symbol.dispose]();
  assertEquals(view.length, 0);
  assertThrows(() => chroma.handle, DisposedError);
});

testOpen("DL Streamer 15: two frames over one buffer have one record of who writes it", async (open) => {
  using made = new CBuffer(memory(24));
  using one = open.gst.attach(made.address, { caps: NV12 });
  using two = open.gst.attach(made.address, { caps: NV12 });
  assertEquals([one.access, two.access], ["read-write", "read"]);
  const { promise, resolve } = Promise.withResolvers<void>();
  {
    using writing = open.graph.map(one, host, { access: "write" });
    assertThrows(() => open.map(two), AccessError);
    assertEquals(writing.access, "write");
  }
  one.usedBy(host.signal(promise));
  resolve();
  await two.finished();
  open.map(two)[Symbol.dispose]();
});
