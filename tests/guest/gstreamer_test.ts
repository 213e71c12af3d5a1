/** GStreamer's dma-bufs as frames of dma-bufs and back, and by way of them to VA-API and OpenCL's kin: in the guest. */
import { assertEquals, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  type Frame,
  host,
  type ImageInfo,
  imageInfo,
  ledger,
  MapperGraph,
} from "../../mod.ts";
import type { Address } from "../../ffi/address.ts";
import { dmabuf, type DmaBufTensor } from "../../src/dmabuf/mod.ts";
import { gst, gstAllocators } from "../../src/gstreamer/library.ts";
import { GStreamerContext } from "../../src/gstreamer/mod.ts";
import type { HostTensor } from "../../src/host/mod.ts";
import { VaapiContext } from "../../src/vaapi/mod.ts";
import { until } from "../conformance/bytes.ts";
import { sweep } from "../faults/sweep.ts";
import { installTap } from "../faults/tap.ts";
import { CBuffer, dmaBufs, Lent, locked, Owned, planesOf } from "../gstreamer/buffers.ts";
import { buildDriver, NODE, useDriver } from "../vaapi/driver.ts";
import { dmaBufTest } from "./dma_bufs.ts";

installTap();
if (await buildDriver() === undefined) useDriver();

const NV12 = imageInfo({ format: "NV12", width: 64, height: 32 });
const CAPS = "video/x-raw(memory:DMABuf),format=NV12,width=64,height=32";
const LUMA = 64 * 32;

interface There {
  readonly gst: GStreamerContext;
  readonly graph: MapperGraph;
}

function test(name: string, fn: (there: There) => unknown): void {
  dmaBufTest(`gstreamer: ${name}`, () => GStreamerContext.openSync({ on: dmabuf }), (gst, graph) => fn({ gst, graph }));
}

type Pixels = Frame<HostTensor>;
type Buffers = Frame<DmaBufTensor>;

test("a buffer of dma-bufs is a frame over them, with the offsets of its planes", ({ gst, graph }) => {
  using memory = dmabuf.allocate({ shape: [2 * 4096], dtype: "u8" });
  using made = new CBuffer(...dmaBufs([memory.exportFd(), 2 * 4096]));
  made.addVideoMeta("NV12", [64, 32], [128, 4096], [64, 96]);
  using frame = gst.attach(made.address, { caps: CAPS }) as Buffers;
  assertEquals([frame.target, frame.info.format, frame.access, made.references], [dmabuf, "NV12", "read-write", 2]);
  assertEquals(
    frame.planes.map(({ layout: { byteOffset, strides } }) => [byteOffset, strides[0]]),
    [[128, 64], [4096, 96]],
  );
  assertEquals(frame.planes[0].grants[0].allocation === memory.grants[0].allocation, true, "a peer");
  using shown = graph.map(frame, host) as unknown as Pixels;
  shown.planes[1].bytes()[96] = 77;
  shown[Symbol.dispose]();
  assertEquals(made.bytes().getUint8(4096 + 96), 77);
});

test("planes in two dma-bufs, and a crop, come along", ({ gst }) => {
  using apart = new DisposableStack();
  const fds = [0, 1].map(() => apart.use(dmabuf.allocate({ shape: [4096], dtype: "u8" })).exportFd());
  using made = new CBuffer(...dmaBufs([fds[0], 4096], [fds[1], 4096]));
  made.addVideoMeta("NV12", [64, 32], [0, 4096 + 64], [64, 64]);
  made.addCrop(8, 4, 48, 24);
  using frame = gst.attach(made.address, { caps: CAPS }) as Buffers;
  assertEquals(frame.planes.map(({ layout: { shape, byteOffset } }) => [shape, byteOffset]), [
    [[24, 48], 4 * 64 + 8],
    [[12, 24, 2], 64 + 2 * 64 + 8],
  ]);
  assertEquals(new Set(frame.planes.map(({ grants: [{ allocation }] }) => allocation)).size, 2);
});

test("a frame of dma-bufs is a buffer that GStreamer reads and writes in place", async ({ gst, graph }) => {
  await using picture = dmabuf.allocateFrame(NV12);
  {
    using shown = graph.map(picture, host) as unknown as Pixels;
    for (const [i, plane] of shown.planes.entries()) plane.bytes().fill(11 + i);
  }
  {
    using lent = new Lent(gst.buffer(picture));
    const memory = firstOf(lent);
    assertEquals(gstAllocators().gst_is_dmabuf_memory(memory), 1);
    const [luma, chroma] = planesOf(lent.address, CAPS);
    assertEquals([chroma.address - luma.address, luma.stride, chroma.stride], [BigInt(LUMA), 64, 64]);
    const bytes = lent.bytes(0, 3);
    assertEquals([bytes.getUint8(5), bytes.getUint8(LUMA + 5)], [11, 12]);
  }
  await picture.finished();
  using shown = graph.map(picture, host, { access: "read" }) as unknown as Pixels;
  assertEquals([shown.planes[0].view()[5], shown.route!.bytesMoved], [11, 0]);
});

function firstOf(buffer: Owned): Address {
  return gst().gst_buffer_peek_memory(buffer.address, 0);
}

test("a buffer whose caps have a modifier is a frame with that modifier", ({ gst }) => {
  const modifier = 0x0100_0000_0000_0002n;
  const drm = `video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=(string)"NV12:0x${modifier.toString(16)}"`;
  using memory = dmabuf.allocate({ shape: [4096], dtype: "u8" });
  using made = new CBuffer(...dmaBufs([memory.exportFd(), 4096]));
  using frame = gst.attach(made.address, { caps: `${drm},width=64,height=32` }) as Buffers;
  assertEquals([frame.info.format, (frame.info as ImageInfo).modifier], ["NV12", modifier]);
  assertEquals(frame.planes.map((plane) => plane.modifier), [modifier, modifier]);
});

test("buffers that were written come back out of a pipeline, and are kept until their frame ends", async ({ gst, graph }) => {
  await using pipeline = gst.launch("appsrc name=in ! queue ! appsink name=out sync=false");
  const writer = pipeline.source("in", NV12).getWriter();
  const picture = dmabuf.allocateFrame(NV12) as Buffers;
  {
    using seen = graph.map(picture, host) as unknown as Pixels;
    seen.planes[0].bytes().fill(7);
  }
  await writer.write(picture);
  let isOver = false;
  const ended = picture[Symbol.asyncDispose]().then(() => isOver = true);
  for await (using back of pipeline.sink("out")) {
    using seen = graph.map(back, host, { access: "read" }) as unknown as Pixels;
    assertEquals([back.target, seen.planes[0].bytes({ access: "read" })[LUMA - 1]], [dmabuf, 7]);
    break;
  }
  assertEquals(isOver, false);
  await pipeline.stop();
  await ended;
});

test("GStreamer keeps the buffers for as long as it likes: their frame's end waits", async ({ gst }) => {
  const picture = dmabuf.allocateFrame(NV12);
  const lent = new Owned(gst.buffer(picture));
  assertThrows(() => gst.attach(lent.address, { caps: CAPS }), ArgumentError, "over a tensor's memory");
  const end = picture[Symbol.asyncDispose]();
  assertEquals(picture.resource.state, "returning");
  lent[Symbol.dispose]();
  await end;
});

test("a buffer that others have, and one that may be read only, are read", ({ gst }) => {
  using memory = dmabuf.allocate({ shape: [4096], dtype: "u8" });
  using made = new CBuffer(locked(dmaBufs([memory.exportFd(), 4096])[0]));
  const asked = { caps: CAPS, access: "read-write", copy: "allow" } as const;
  const error = assertThrows(() => gst.attach(made.address, asked), AccessError);
  assertEquals(error.hint, 'Pass { access: "read" }.');
  using frame = gst.attach(made.address, { caps: CAPS, copy: "allow" });
  assertEquals(frame.access, "read");
});

test("memory that only says that it is a dma-buf is refused, and nothing of it stays", ({ gst }) => {
  using memory = host.allocate({ shape: [4096], dtype: "u8", sharable: true });
  using made = new CBuffer(...dmaBufs([memory.exportFd(), 4096]));
  assertThrows(() => gst.attach(made.address, { caps: CAPS }), ArgumentError, "dma-buf");
  assertEquals(made.references, 1);
});

test("a format that samepage has no name for is refused, and mapped without { on }", ({ gst }) => {
  using memory = dmabuf.allocate({ shape: [2 * 4096], dtype: "u8" });
  using made = new CBuffer(...dmaBufs([memory.exportFd(), 2 * 4096]));
  const caps = "video/x-raw,format=Y42B,width=64,height=32";
  assertThrows(() => gst.attach(made.address, { caps }), ArgumentError, "samepage's own formats");
  using plain = GStreamerContext.openSync();
  using own = new MapperGraph([host, plain]);
  using frame = plain.attach(made.address, { caps });
  using shown = own.map(frame, host, { access: "read" });
  assertEquals([shown.route!.bytesMoved, made.references], [0, 2]);
});

test("a VA surface's dma-bufs go to GStreamer, and GStreamer's to VA-API", async ({ gst }) => {
  using va = VaapiContext.open({ node: NODE });
  using graph = new MapperGraph([host, dmabuf, gst, va]);
  using surface = va.allocateFrame(NV12);
  {
    using shown = graph.map(surface, host) as unknown as Pixels;
    shown.planes[0].bytes().fill(42);
  }
  {
    await using buffers = graph.map(surface, dmabuf, { access: "read" }) as unknown as Buffers;
    using lent = new Lent(gst.buffer(buffers));
    assertEquals(lent.bytes().getUint8(0), 42);
  }
  const { strides: [row] } = surface.planes[0].layout;
  using memory = dmabuf.allocate({ shape: [8 * 4096], dtype: "u8" });
  using made = new CBuffer(...dmaBufs([memory.exportFd(), 8 * 4096]));
  made.addVideoMeta("NV12", [64, 32], [0, 4 * 4096], [row, row]);
  using frame = gst.attach(made.address, { caps: CAPS });
  using there = graph.map(frame, va, { access: "read" });
  assertEquals(there.route!.bytesMoved, 0);
});

test("every native call of a buffer's way to GStreamer fails once: it is typed, and nothing stays", async () => {
  await using picture = dmabuf.allocateFrame(NV12);
  const handOver = async () => {
    try {
      using gst = GStreamerContext.openSync({ on: dmabuf });
      new Owned(gst.buffer(picture))[Symbol.dispose]();
      await picture.finished();
    } finally {
      await until(() => ledger.alive["native.flag"] === undefined);
    }
  };
  await handOver();
  const calls = new Set((await sweep(handOver, () => {}, ["dmabuf.ioctl"])).map(({ call }) => call));
  for (const fn of ["gst_dmabuf_allocator_new", "gst_dmabuf_allocator_alloc_with_flags"]) {
    assertEquals(calls.has(`gstreamer_allocators.${fn}`), true, fn);
  }
});
