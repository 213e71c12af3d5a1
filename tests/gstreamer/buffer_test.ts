// Memory of samepage's as GstBuffers, which GStreamer keeps for as long as it likes.

import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  Frame,
  host,
  imageInfo,
  layout,
  LayoutError,
  NativeCallError,
} from "@samepage/interop";
import { frameInfo } from "../../src/core/layout/frame_info.ts";
import * as gs from "../../ffi/gstreamer/constants.ts";
import { capsOf } from "../../src/gstreamer/caps.ts";
import { gst, takenText } from "../../src/gstreamer/library.ts";
import { Lent, Owned, planesOf } from "./buffers.ts";
import { testOpen } from "./open.ts";

const NV12 = imageInfo({ format: "NV12", width: 32, height: 16 });
const CAPS = "video/x-raw,format=NV12,width=32,height=16";

/** Is a promise still open after some milliseconds? */
async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const later = new Promise((resolve) => setTimeout(() => resolve("later"), 20));
  return await Promise.race([promise, later]) === "later";
}

testOpen("buffer() lies over a host's frame, with its offsets and strides", async (open) => {
  using picture = host.allocateFrame(NV12, { rowAlign: 64 });
  await using mapped = open.graph.map(picture, open.gst, { access: "read" });
  assertEquals([mapped.route!.bytesMoved, mapped.route!.steps[0].transfer], [0, "alias"]);
  using lent = new Lent(open.gst.buffer(mapped));
  assertEquals(planesOf(lent.address, CAPS), picture.planes.map(({ address }) => ({ address, stride: 64 })));
  assertThrows(() => lent.bytes(0, gs.GST_MAP_WRITE), NativeCallError, "gst_memory_map");
});

testOpen("the end of a frame waits for GStreamer's last reference", async (open) => {
  using picture = host.allocateFrame(NV12);
  const mapped = open.graph.map(picture, open.gst, { access: "read" });
  const lent = new Lent(open.gst.buffer(mapped));
  const kept = new Owned(gst().gst_buffer_get_memory(lent.address, 0));
  lent[Symbol.dispose]();
  const ended = mapped[Symbol.asyncDispose]();
  assert(await isPending(ended));
  assertThrows(() => picture.planes[0].bytes({ access: "write" }), AccessError);
  kept[Symbol.dispose]();
  await ended;
  picture.planes[0].bytes({ access: "write" }).fill(1);
});

testOpen("a map for reading does not wait while GStreamer reads, and one beside its writes does", async (open) => {
  using picture = host.allocateFrame(NV12, { rowAlign: 64 });
  for (const access of ["read", "read-write"] as const) {
    await using mapped = open.graph.map(picture, open.gst, { access });
    using lent = new Lent(open.gst.buffer(mapped));
    const [step] = open.graph.explain(mapped, host, { access: "read" }).steps;
    assertEquals([step.transfer, step.hostWait], ["alias", access !== "read"]);
    if (step.hostWait) continue; // such a map would wait for this thread
    using beside = open.graph.map(mapped, host, { access: "read" });
    assertEquals(planesOf(lent.address, CAPS)[0].address, beside.planes[0].address);
  }
});

testOpen("elements write a buffer of a frame that may be written", async (open) => {
  using picture = host.allocateFrame(NV12);
  {
    await using mapped = open.graph.map(picture, open.gst, { access: "write" });
    using lent = new Lent(open.gst.buffer(mapped));
    lent.bytes(0, gs.GST_MAP_WRITE);
    const [, { address }] = planesOf(lent.address, CAPS);
    new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(address)!, 64))[33] = 5;
  }
  assertEquals(picture.planes[1].bytes()[33], 5);
});

testOpen("buffer() has a memory for each block, and planes in any order", async (open) => {
  const apart = [[16, 32], [8, 16, 2]].map((shape) => host.allocate({ shape, dtype: "u8" }));
  using block = host.allocate({ shape: [3 * 256], dtype: "u8" });
  const swapped = [
    block.slice(layout({ shape: [16, 32], dtype: "u8", byteOffset: 256 })),
    block.slice(layout({ shape: [8, 16, 2], dtype: "u8" })),
  ];
  for (const [planes, memories] of [[apart, 2], [swapped, 1]] as const) {
    using picture = Frame.of(planes, NV12);
    await using mapped = open.graph.map(picture, open.gst, { access: "read" });
    using lent = new Lent(open.gst.buffer(mapped));
    assertEquals(planesOf(lent.address, CAPS).map(({ address }) => address), planes.map(({ address }) => address));
    assertEquals(gst().gst_buffer_n_memory(lent.address), memories);
  }
});

testOpen("buffer() has the times and flags of a frame, and attach() reads them back", async (open) => {
  const media = {
    ...{ pts: 3n, duration: 1n, timeBase: [1, 25] as const, keyFrame: false, discontinuous: true },
    ...{ frameRate: [25, 1] as const, sampleAspect: [4, 3] as const, chromaLocation: "center" },
    ...{ matrix: "bt2020nc", primaries: "bt2020", transfer: "smpte2084" },
  };
  const info = frameInfo({ ...NV12, colour: { matrix: "bt2020", range: "full" }, media });
  using picture = host.allocateFrame(info);
  await using mapped = open.graph.map(picture, open.gst, { access: "read" });
  using lent = new Lent(open.gst.buffer(mapped));
  const view = new DataView(Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(lent.address)!, 112));
  assertEquals([view.getBigUint64(72, true), view.getBigUint64(88, true)], [120_000_000n, 40_000_000n]);
  const flags = gs.GST_BUFFER_FLAG_DISCONT | gs.GST_BUFFER_FLAG_DELTA_UNIT;
  assertEquals(gst().gst_buffer_get_flags(lent.address) & ~gs.GST_BUFFER_FLAG_TAG_MEMORY, flags);
  using its = new Owned(capsOf(info));
  const text = takenText(gst().gst_caps_to_string(its.address))!;
  for (
    const part of [
      "format=(string)NV12",
      "framerate=(fraction)25/1",
      "pixel-aspect-ratio=(fraction)4/3",
      "chroma-site=(string)jpeg",
    ]
  ) {
    assert(text.includes(part), text);
  }
  assertEquals(open.gst.caps.of(its.address).pictures?.media, {
    ...{ frameRate: [25, 1], sampleAspect: [4, 3], chromaLocation: "center" },
    ...{ matrix: "bt2020nc", primaries: "bt2020", transfer: "smpte2084" },
  });
  assertEquals(open.gst.caps.of(its.address).pictures?.colour, { matrix: "bt2020", range: "full" });
});

testOpen("a buffer over a tensor's memory is not attached", async (open) => {
  using picture = host.allocateFrame(NV12);
  await using mapped = open.graph.map(picture, open.gst, { access: "read" });
  using lent = new Lent(open.gst.buffer(mapped));
  assertThrows(() => open.gst.attach(lent.address, { caps: CAPS }), ArgumentError, "over a tensor's memory");
});

testOpen(
  "buffer() refuses gaps within rows, times of no time base, and formats that GStreamer does not have",
  async (open) => {
    using block = host.allocate({ shape: [64, 64], dtype: "u8" });
    const gaps = block.slice(layout({ shape: [8, 8], dtype: "u8", strides: [64, 2] }));
    const gray = imageInfo({ format: "GRAY8", width: 8, height: 8 });
    const refused = async (frame: Frame, type: typeof LayoutError | typeof ArgumentError, says: string) => {
      using given = frame;
      await using mapped = open.graph.map(given, open.gst, { access: "read" });
      assertThrows(() => open.gst.buffer(mapped as Frame), type, says);
    };
    await refused(Frame.of([gaps], gray), LayoutError, "gaps within the rows of plane 0");
    await refused(host.allocateFrame(frameInfo({ ...gray, media: { pts: 1n } })), ArgumentError, "timeBase");
    const planes = [{ dtype: "u8", elements: 1, step: 1, rows: 1 }] as const;
    const odd = (format: string) =>
      host.allocateFrame(frameInfo({ type: "picture", format, width: 3, height: 3, planes }));
    await refused(odd("yuv422p10le"), ArgumentError, "no format yuv422p10le");
    await refused(odd("I420_10LE"), ArgumentError, "its planes are not those of GStreamer's I420_10LE");
  },
);
