/** Surfaces of GStreamer's elements of VA-API as frames of a program's display, in place: in the guest with a GPU. */
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ArgumentError, type Frame, host, type ImageInfo, InteropError, ledger, MapperGraph } from "../../../mod.ts";
import { dmabuf, type DmaBufTensor } from "../../../src/dmabuf/mod.ts";
import { GStreamerContext } from "../../../src/gstreamer/mod.ts";
import type { HostTensor } from "../../../src/host/mod.ts";
import { OpenCLContext } from "../../../src/opencl/mod.ts";
import { OpenCVContext } from "../../../src/opencv/mod.ts";
import { VaapiContext } from "../../../src/vaapi/mod.ts";
import { assertAlive } from "../../alive.ts";
import { sweep } from "../../faults/sweep.ts";
import { installTap } from "../../faults/tap.ts";
import { CBuffer, dmaBufs, Lent } from "../../gstreamer/buffers.ts";
import { sampleOf } from "../../gstreamer/samples.ts";
import { picture } from "../../vaapi/pixels.ts";
import { guestTest } from "../needs.ts";

installTap();

const NODE = "/dev/dri/renderD128";
const PLUGIN = "/usr/lib/x86_64-linux-gnu/gstreamer-1.0/libgstva.so"; // of gstreamer1.0-plugins-bad
const [WIDTH, HEIGHT] = [128, 64];
/** This driver's video processing reports success, and writes black. */
const SURFACES =
  `videotestsrc num-buffers=6 ! video/x-raw,format=NV12,width=${WIDTH},height=${HEIGHT} ! vapostproc ! ` +
  "video/x-raw(memory:VAMemory),format=NV12 ! appsink name=out sync=false";

interface There {
  readonly va: VaapiContext;
  readonly gstreamer: GStreamerContext;
  readonly graph: MapperGraph;
}

function test(name: string, fn: (there: There) => unknown): void {
  guestTest(`gstreamer: ${name}`, async () => {
    VaapiContext.open({ node: NODE })[Symbol.dispose](); // what drivers open once, and keep
    const { alive } = ledger;
    {
      using va = VaapiContext.open({ node: NODE });
      using gstreamer = GStreamerContext.openSync({ on: va });
      using graph = new MapperGraph([host, va, gstreamer]); // this driver exports surfaces only if they were made for it
      await fn({ va, gstreamer, graph });
    }
    await assertAlive(alive, "alive after the test");
  }, [NODE, PLUGIN]);
}

test("a loop over a sink has the surfaces of a pipeline, on the program's display", async ({ va, gstreamer }) => {
  await using pipeline = gstreamer.launch(SURFACES);
  let frames = 0;
  for await (using frame of pipeline.sink("out")) {
    assertEquals([frame.target, frame.info.format, frame.access], [va, "NV12", "read"]);
    assertEquals(frame.info.media!.pts! > 0n, frames++ > 0);
  }
  assertEquals(frames, 6);
});

test("what each writes into a surface, the other sees", async ({ gstreamer, graph }) => {
  const { pipeline, sample, buffer } = await sampleOf(gstreamer, SURFACES);
  await using _pipeline = pipeline;
  using _sample = sample;
  const its = new Lent(buffer); // the sample's reference
  using frame = gstreamer.attach(sample.address);
  {
    using shown = graph.map(frame, host, { copy: "allow" }) as Frame<HostTensor>;
    for (const [i, plane] of shown.planes.entries()) plane.bytes().fill(70 + i);
  }
  const pixels = its.bytes();
  assertEquals([pixels.getUint8(0), pixels.getUint8(pixels.byteLength - 1)], [70, 71]);
  its.set(Uint8Array.of(9, 8, 7), 0);
  using again = graph.map(frame, host, { copy: "allow", access: "read" }) as Frame<HostTensor>;
  assertEquals([...again.planes[0].bytes({ access: "read" }).subarray(0, 4)], [9, 8, 7, 70]);
});

test("a pipeline's surface → host → OpenCL → UMat: one map, in which the driver alone copies", async ({ va, gstreamer, graph }) => {
  using cl = OpenCLContext.open({ platform: "Portable" });
  using cv = OpenCVContext.open();
  using wide = new MapperGraph([host, dmabuf, va, gstreamer, cl, cv]);
  const { pipeline, sample } = await sampleOf(gstreamer, SURFACES);
  await using _pipeline = pipeline;
  using frame = gstreamer.attach(sample.address);
  {
    using shown = graph.map(frame, host, { copy: "allow" }) as Frame<HostTensor>;
    for (const [i, plane] of shown.planes.entries()) plane.bytes().fill(70 + i);
  }
  {
    await using umats = wide.map(frame, cv.umat, { copy: "allow", access: "read" });
    const pixels = WIDTH * HEIGHT * 3 / 2;
    assertEquals([frame.target, umats.route!.bytesMoved, cl.bytesCopied], [va, pixels, 0]);
    assertEquals(umats.route!.steps.map(({ edge, transfer }) => `${edge} ${transfer}`), [
      ...["vaapi→host copy", "host→opencl alias", "opencl→opencv.umat alias"],
    ]);
    for (const [i, plane] of umats.planes.entries()) {
      using seen = wide.map(plane, host, { access: "read" }) as HostTensor;
      assertEquals(new Set(seen.bytes({ access: "read" })), new Set([70 + i]));
    }
  }
  sample[Symbol.dispose]();
});

test("a surface of another display, and one without a display, are refused", async ({ gstreamer }) => {
  using other = VaapiContext.open({ node: NODE });
  using theirs = GStreamerContext.openSync({ on: other });
  using plain = GStreamerContext.openSync();
  const { pipeline, sample } = await sampleOf(theirs, SURFACES);
  await using _pipeline = pipeline;
  using _sample = sample;
  assertThrows(() => gstreamer.attach(sample.address), ArgumentError, "another display");
  const error = assertThrows(() => plain.attach(sample.address), ArgumentError, "in a surface of VA-API's");
  assertEquals(error.argument, "pointer");
  assertEquals(sample.references, 1);
});

test("elements of the CPU's get no dma-bufs whose mapping is not the memory", async ({ va }) => {
  using gstreamer = GStreamerContext.openSync({ on: dmabuf });
  using graph = new MapperGraph([va, dmabuf]);
  await using surface = va.allocateFrame(picture("GRAY8", WIDTH, HEIGHT));
  await using buffers = graph.map(surface, dmabuf, { access: "read" }) as unknown as Frame<DmaBufTensor>;
  await using pipeline = gstreamer.launch("appsrc name=in ! videoconvert ! fakesink");
  const writer = pipeline.source("in", buffers.info as ImageInfo).getWriter();
  await assertRejects(
    async () => {
      await writer.write(buffers);
      await writer.close();
      await pipeline.play();
      await pipeline.ended();
    },
    InteropError,
    "do not agree on a format",
  );
});

test("a buffer of dma-bufs that a mapping does not show is refused where it would be mapped", ({ va }) => {
  using graph = new MapperGraph([va, dmabuf]);
  using plain = GStreamerContext.openSync();
  using surface = va.allocateFrame(picture("GRAY8", WIDTH, HEIGHT));
  using buffers = graph.map(surface, dmabuf, { access: "read" }) as unknown as Frame<DmaBufTensor>;
  const [plane] = buffers.planes;
  using made = new CBuffer(...dmaBufs([plane.exportFd(), WIDTH * HEIGHT]));
  const about = { caps: `video/x-raw,format=GRAY8,width=${WIDTH},height=${HEIGHT}` };
  assertThrows(() => plain.attach(made.address, about), ArgumentError, "virtio_gpu");
});

/** Whether the driver exports the surface: where it does not, its planes are the surface's alone. */
const ASKED = ["vaapi.vaExportSurfaceHandle", "libc.lseek"];

test("every native call of standing on a display, and of taking a surface, fails once", async ({ va, gstreamer }) => {
  const open = () => GStreamerContext.openSync({ on: va })[Symbol.dispose]();
  open();
  const calls = (await sweep(open, () => {})).map(({ call }) => call);
  const { pipeline, sample } = await sampleOf(gstreamer, SURFACES);
  await using _pipeline = pipeline;
  using _sample = sample;
  const attach = () => gstreamer.attach(sample.address)[Symbol.dispose]();
  attach();
  calls.push(...(await sweep(attach, () => assertEquals(sample.references, 1), ASKED)).map(({ call }) => call));
  for (const fn of ["gst_va_display_wrapped_new", "gst_va_display_get_va_dpy"]) {
    assertEquals(calls.includes(`gstreamer_va.${fn}`), true, fn);
  }
});
