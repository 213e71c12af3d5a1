/** FFmpeg's DRM frames as frames of dma-bufs and back, and VA-API's by way of them: in the guest. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  type Frame,
  host,
  type ImageInfo,
  imageInfo,
  ledger,
  type MapperGraph,
} from "../../mod.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { dmabuf, type DmaBufTensor } from "../../src/dmabuf/mod.ts";
import { FFmpegContext } from "../../src/ffmpeg/mod.ts";
import type { HostTensor } from "../../src/host/mod.ts";
import { VaapiContext } from "../../src/vaapi/mod.ts";
import { until } from "../conformance/bytes.ts";
import { buildFrames, CFrame, inC } from "../ffmpeg/frames.ts";
import { value } from "../ffmpeg/open.ts";
import { sweep } from "../faults/sweep.ts";
import { installTap } from "../faults/tap.ts";
import { buildDriver, NODE, useDriver } from "../vaapi/driver.ts";
import { dmaBufTest } from "./dma_bufs.ts";

installTap();
await buildFrames();
if (await buildDriver() === undefined) useDriver();

const NV12 = imageInfo({ format: "NV12", width: 64, height: 32 });
const FOURCC = { R8: 0x20203852, GR88: 0x38385247, NV12: 0x3231564e };
const LUMA = 64 * 32;

interface There {
  readonly ffmpeg: FFmpegContext;
  readonly graph: MapperGraph;
}

function test(name: string, fn: (there: There) => unknown): void {
  dmaBufTest(`ffmpeg: ${name}`, () => FFmpegContext.open({ on: dmabuf }), (ffmpeg, graph) => fn({ ffmpeg, graph }));
}

/** Fences of a buffer are asked for, and it goes without. */
const SILENT = ["dmabuf.ioctl"];

type Pixels = Frame<HostTensor>;
type Buffers = Frame<DmaBufTensor>;

/** A frame of DRM's over buffers of the program's, one for each object. */
function drm(
  fds: readonly number[],
  layers: readonly number[],
  places: readonly (readonly number[])[],
  modifier = 0n,
): CFrame {
  const at = new BigInt64Array(places.flat().map(BigInt));
  const all = [new Int32Array(fds), new Uint32Array(layers)] as const;
  return new CFrame(inC().drm_frame(64, 32, fds.length, all[0], 4096n, modifier, layers.length, all[1], at));
}

const PLACES = [[0, 0, 64], [0, LUMA, 64]] as const;

test("a frame of dma-bufs is a DRM frame that FFmpeg reads and writes in place", async ({ ffmpeg, graph }) => {
  await using picture = dmabuf.allocateFrame(NV12);
  {
    using shown = graph.map(picture, host) as unknown as Pixels;
    for (const [i, plane] of shown.planes.entries()) plane.bytes().fill(11 + i);
  }
  {
    using given = new CFrame(ffmpeg.avFrame(picture));
    const facts = new BigInt64Array(8);
    inC().drm_facts(given.pointer, facts);
    assertEquals([...facts], [1n, 1n, 2n, BigInt(FOURCC.NV12), 4096n, 0n, BigInt(LUMA), 64n]);
    using seen = given.mapped("nv12");
    assertEquals([inC().pixel(seen.pointer, 0, 5, 6), inC().pixel(seen.pointer, 2, 5, 6)], [11, 12]);
    using from = CFrame.picture("nv12", 64, 32);
    assertEquals(inC().transfer(given.pointer, from.pointer), 0);
  }
  await picture.finished();
  using shown = graph.map(picture, host, { access: "read" }) as unknown as Pixels;
  assertEquals([shown.planes[0].view()[3 * 64 + 9], shown.route!.bytesMoved], [value("nv12", 0, 9, 3), 0]);
});

test("FFmpeg keeps the buffers for as long as it likes: their frame's end waits", async ({ ffmpeg }) => {
  const picture = dmabuf.allocateFrame(NV12);
  const given = new CFrame(ffmpeg.avFrame(picture));
  const end = picture[Symbol.asyncDispose]();
  assertEquals(picture.resource.state, "returning");
  given[Symbol.dispose]();
  await end;
});

test("a DRM frame without a frames context is a frame over its buffers, which the program keeps", ({ ffmpeg, graph }) => {
  using memory = dmabuf.allocate({ shape: [4096], dtype: "u8" });
  const fd = memory.exportFd();
  const made = drm([fd], [FOURCC.R8, FOURCC.GR88], PLACES);
  using frame = ffmpeg.attach(made.pointer) as Buffers;
  assertEquals([frame.target, frame.info.format, frame.access], [dmabuf, "NV12", "read-write"]);
  assertEquals(frame.planes.map(({ layout: { byteOffset } }) => byteOffset), [0, LUMA]);
  assertEquals(frame.planes[0].grants[0].allocation === memory.grants[0].allocation, true, "a peer");
  made[Symbol.dispose]();
  closeFd(fd);
  using shown = graph.map(frame, host) as unknown as Pixels;
  shown.planes[1].bytes()[64] = 77;
  shown[Symbol.dispose]();
  using all = graph.map(memory, host, { access: "read" });
  assertEquals([all.bytes()[LUMA + 64], all.route!.bytesMoved], [77, 0]);
});

test("planes in two objects, with a modifier that rows do not follow, come along whole", ({ ffmpeg, graph }) => {
  const TILED = 0x0100_0000_0000_0002n;
  using luma = dmabuf.allocate({ shape: [4096], dtype: "u8" });
  using chroma = dmabuf.allocate({ shape: [4096], dtype: "u8" });
  const fds = [luma.exportFd(), chroma.exportFd()];
  using made = drm(fds, [FOURCC.R8, FOURCC.GR88], [[0, 0, 64], [1, 128, 64]], TILED);
  {
    using frame = ffmpeg.attach(made.pointer, { access: "read" }) as Buffers;
    assertEquals([(frame.info as ImageInfo).modifier, frame.planes[1].layout.byteOffset], [TILED, 128]);
    assertEquals(frame.planes[1].grants[0].allocation === chroma.grants[0].allocation, true, "a peer");
    assertThrows(() => graph.map(frame, host, { access: "read" }));
  }
  inC().set_modifier(made.pointer, 1, 0n);
  const error = assertThrows(() => ffmpeg.attach(made.pointer), ArgumentError);
  assertStringIncludes(error.message, "different modifiers");
  for (const fd of fds) closeFd(fd);
});

test("DRM frames of other layers, of no objects, and of anything but a dma-buf are refused", ({ ffmpeg }) => {
  using memory = dmabuf.allocate({ shape: [4096], dtype: "u8" });
  const fd = memory.exportFd();
  const refused = (made: CFrame, message: string) => {
    const error = assertThrows(() => ffmpeg.attach(made.pointer), Error);
    assertStringIncludes(error.message, message);
    assertEquals(made.references, 1);
    made[Symbol.dispose]();
  };
  refused(drm([fd], [FOURCC.R8, 0x1234], PLACES), "no format of DRM's layers 0x20203852, 0x1234");
  refused(drm([], [FOURCC.R8, FOURCC.GR88], PLACES), "has 0 objects, and 1 to 4 fit");
  refused(drm([fd], Array(9).fill(FOURCC.R8), Array(9).fill([0, 0, 64])), "has 9 layers");
  refused(drm([fd], [FOURCC.R8, FOURCC.GR88], [[0, 0, 64], [1, 0, 64]]), "planes[1].fd");
  refused(drm([fd], [FOURCC.R8, FOURCC.GR88], [[0, 0, 64], [0, 4000, 64]]), "4096");
  refused(drm([fd], [FOURCC.R8, FOURCC.GR88], [[0, 0, 8], [0, LUMA, 64]]), "stride");
  refused(drm([9999], [FOURCC.R8, FOURCC.GR88], PLACES), "9999");
  closeFd(fd);
});

test("a buffer that FFmpeg was given is not attached as another", async ({ ffmpeg }) => {
  await using picture = dmabuf.allocateFrame(NV12);
  using given = new CFrame(ffmpeg.avFrame(picture));
  const error = assertThrows(() => ffmpeg.attach(given.pointer), ArgumentError);
  assertStringIncludes(error.message, "over a tensor's memory");
  using _kept = given.clone();
  assertThrows(() => ffmpeg.attach(given.pointer, { access: "write" }), AccessError);
});

test("a VA surface that FFmpeg maps to DRM is a frame of dma-bufs, with the surface's pixels", ({ ffmpeg, graph }) => {
  using va = VaapiContext.open({ node: NODE });
  using onVa = FFmpegContext.open({ on: va });
  const device = onVa.avDevice();
  using made = CFrame.hardware(device, "vaapi", "nv12", 64, 32);
  inC().unreference(device);
  using from = CFrame.picture("nv12", 64, 32);
  assertEquals(inC().transfer(made.pointer, from.pointer), 0);
  using mapped = made.mapped("drm_prime");
  using frame = ffmpeg.attach(mapped.pointer, { access: "read" }) as Buffers;
  using shown = graph.map(frame, host, { access: "read" }) as unknown as Pixels;
  const [row] = shown.planes[1].layout.strides;
  assertEquals(shown.planes[1].view()[3 * row + 9], value("nv12", 2, 4, 3));
  assertEquals(shown.route!.bytesMoved, 0);
});

test("every native call of a buffer's way to FFmpeg fails once: it is typed, and nothing stays", async () => {
  await using picture = dmabuf.allocateFrame(NV12);
  const handOver = async () => {
    try {
      using ffmpeg = FFmpegContext.open({ on: dmabuf });
      inC().freed(ffmpeg.avFrame(picture));
      await picture.finished();
    } finally {
      await until(() => ledger.alive["native.flag"] === undefined);
    }
  };
  await handOver();
  const calls = new Set((await sweep(handOver, () => {}, SILENT)).map(({ call }) => call));
  for (const fn of ["av_buffer_allocz", "av_hwframe_ctx_init"]) assertEquals(calls.has(`ffmpeg.${fn}`), true, fn);
});
