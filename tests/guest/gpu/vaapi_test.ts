/** VA-API on Mesa's driver of virtio-gpu: in the guest with a GPU. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { readVAImage, VAImage } from "../../../ffi/va/structs.ts";
import { type Frame, host, ledger, MapperGraph, NoRouteError } from "../../../mod.ts";
import { dmabuf, type DmaBufTensor } from "../../../src/dmabuf/mod.ts";
import type { HostTensor } from "../../../src/host/mod.ts";
import { EglContext } from "../../../src/egl/mod.ts";
import { OpenCLContext } from "../../../src/opencl/mod.ts";
import { FORMATS } from "../../../src/vaapi/formats.ts";
import { check, libva, structOf } from "../../../src/vaapi/library.ts";
import { VaapiContext, vaapiNodes, type VaapiTensor } from "../../../src/vaapi/mod.ts";
import { assertAlive } from "../../alive.ts";
import { bytesAt } from "../../conformance/bytes.ts";
import { Level, openFds, openFiles } from "../../gc.ts";
import { assertSamePixels, picture, pixelsOf, randomFrame } from "../../vaapi/pixels.ts";
import { guestTest } from "../needs.ts";

const NODE = "/dev/dri/renderD128";

interface There {
  readonly va: VaapiContext;
  readonly graph: MapperGraph;
}

type Buffers = Frame<DmaBufTensor>;
type Surface = Frame<VaapiTensor>;
type Pixels = Frame<HostTensor>;

function test(name: string, fn: (there: There) => unknown): void {
  guestTest(`vaapi: ${name}`, async () => {
    VaapiContext.open({ node: NODE })[Symbol.dispose](); // what libraries open once, and keep
    const [alive, fds] = [ledger.alive, sharedFds()];
    {
      using va = VaapiContext.open({ node: NODE });
      using graph = new MapperGraph([host, dmabuf, va]);
      await fn({ va, graph });
    }
    await assertAlive(alive, "alive after the test");
    assertEquals(sharedFds(), fds);
  }, [NODE]);
}

/** The open fds of memory and devices. Mesa's driver leaves a sync file of each vaPutImage open, also in C. */
const sharedFds = () => openFiles(/dmabuf|memfd|dri/);

/** A surface with random pixels, and those. */
function filled(graph: MapperGraph, va: VaapiContext, ...[format, width, height]: Parameters<typeof randomFrame>) {
  using all = new DisposableStack();
  const pixels = all.use(randomFrame(format, width, height));
  const surface = all.use(graph.map(pixels, va, { copy: "allow", access: "read" })) as unknown as Surface;
  const made = all.move();
  return { pixels, surface, [Symbol.dispose]: () => made.dispose() };
}

guestTest("vaapi: open({ on }) goes from VA-API to EGL and back by the render node", () => { // EGL keeps an fd of the node
  using va = VaapiContext.open({ node: NODE });
  using egl = EglContext.open({ on: va });
  assertEquals(egl.id.node, NODE);
  using back = VaapiContext.open({ on: egl });
  assertEquals(back.node, NODE);
}, [NODE]);

test("profiles, entrypoints, driver and version are those of vainfo, line by line", async ({ va }) => {
  const command = new Deno.Command("vainfo", { args: ["--display", "drm", "--device", NODE], stderr: "null" });
  const { stdout } = await command.output();
  const said = new TextDecoder().decode(stdout).split("\n").map((line) => line.trimEnd());
  const first = said.findIndex((line) => line.startsWith("vainfo: Supported profile")) + 1;
  const listed = said.slice(first).filter((line) => line !== "");
  assertEquals(va.configs.map(({ profile, entrypoint }) => `      ${profile.padEnd(32)}:\t${entrypoint}`), listed);
  assert(listed.length > 0);
  assert(said.some((line) => line.startsWith(`vainfo: VA-API version: ${va.version} (`)), said.join("\n"));
  assert(said.includes(`vainfo: Driver version: ${va.name}`), said.join("\n"));
});

test("the driver processes video, and decodes none", ({ va }) => {
  assertEquals(va.configs.map(({ entrypoint }) => entrypoint), ["VAEntrypointVideoProc"]);
  assertEquals(vaapiNodes(), [{ node: NODE, open: true }]);
  assertEquals(va.formats.join(), "GRAY8,RGBA,BGRA,RGBX,BGRX,NV12,I420,YV12,YUV444,P010,P012,P016");
});

test("every format: host → surface → dma-bufs → another display → host, and the pixels are the same", ({ va, graph }) => {
  using other = VaapiContext.open({ node: NODE });
  using wide = new MapperGraph([host, dmabuf, va, other]);
  for (const format of va.formats) {
    using there = filled(graph, va, format, 128, 64);
    using buffers = wide.map(there.surface, dmabuf) as unknown as Buffers;
    assertEquals(buffers.info, there.surface.info);
    using imported = wide.map(buffers, other) as unknown as Surface;
    using again = wide.map(imported, host, { copy: "allow" }) as unknown as Pixels;
    assertSamePixels(there.pixels, again, `by ${again.route}`);
  }
});

/** Fills a surface by calls that do not wait: from the second on, the driver sends the pixels by a buffer of its own. */
function putTwice(va: VaapiContext, { planes: [{ rawHandle: { id, info } }] }: Surface, byte: number): void {
  const { display: { handle: display }, imageFormats } = va;
  const { vaCreateImage, vaMapBuffer, vaUnmapBuffer, vaPutImage, vaDestroyImage } = libva();
  const { width: w, height: h } = info;
  const image = structOf(VAImage);
  check(vaCreateImage(display, imageFormats.get(FORMATS[info.format]!.fourcc)!, w, h, image), "vaCreateImage");
  const { image_id, buf, data_size } = readVAImage(image, 0);
  const address = new BigUint64Array(1);
  for (const value of [0xff, byte]) {
    check(vaMapBuffer(display, buf, address), "vaMapBuffer");
    bytesAt(address[0], data_size).fill(value);
    check(vaUnmapBuffer(display, buf), "vaUnmapBuffer");
    check(vaPutImage(display, id, image_id, 0, 0, w, h, 0, 0, w, h), "vaPutImage");
  }
  check(vaDestroyImage(display, image_id), "vaDestroyImage");
}

test("pixels that come while the device is at work on the surface are read, whichever way leads there", ({ va, graph }) => {
  using other = VaapiContext.open({ node: NODE });
  using wide = new MapperGraph([host, dmabuf, va, other]);
  for (let byte = 1; byte <= 6; byte++) {
    using surface = va.allocateFrame(picture("NV12", 128, 64));
    putTwice(va, surface, byte);
    {
      using shown = graph.map(surface, host, { copy: "allow", access: "read" }) as unknown as Pixels;
      assertEquals(pixelsOf(shown).map((plane) => [...new Set(plane)]), [[byte], [byte]], `${shown.route}`);
    }
    putTwice(va, surface, 100 + byte);
    using imported = wide.map(surface, other, { access: "read" }) as unknown as Surface;
    using shown = wide.map(imported, host, { copy: "allow", access: "read" }) as unknown as Pixels;
    assertEquals(pixelsOf(shown).map((plane) => [...new Set(plane)]), [[100 + byte], [100 + byte]], `${shown.route}`);
  }
});

test("the CPU gets at no pixels through its dma-bufs, and is told that their pages are not the memory", ({ va, graph }) => {
  using surface = va.allocateFrame(picture("NV12"));
  using buffers = graph.map(surface, dmabuf, { access: "read" });
  for (const source of [surface, buffers]) {
    const error = assertThrows(() => graph.map(source, host, { access: "read" }), NoRouteError);
    assertStringIncludes(error.message, "dmabuf→host: closed: its exporter (virtio_gpu)");
  }
});

test("what the CPU writes to a surface comes back", ({ va, graph }) => {
  for (const format of va.formats) {
    using pixels = randomFrame(format, 128, 64);
    {
      using surface = graph.map(pixels, va, { copy: "allow" }) as unknown as Surface;
      using mapped = graph.map(surface, host, { copy: "allow", access: "write" }) as unknown as Pixels;
      for (const [i, plane] of mapped.planes.entries()) plane.bytes().fill(70 + i);
    }
    const left = pixelsOf(pixels).map((plane) => [...new Set(plane)]);
    assertEquals(left, pixels.planes.map((_, i) => [70 + i]), format);
  }
});

test("its fds are for reading: a map for writing says so", ({ va, graph }) => {
  using surface = va.allocateFrame(picture("NV12"));
  const error = assertThrows(() => graph.map(surface, dmabuf), NoRouteError);
  assertStringIncludes(error.message, 'the driver gives fds for "read" only');
});

test("it takes no memory of another driver's, and says in how many ways it was asked", ({ va, graph }) => {
  using buffers = dmabuf.allocateFrame(picture("NV12", 256, 64));
  const error = assertThrows(() => graph.map(buffers, va)) as Error & { hint?: string };
  assertStringIncludes(error.hint ?? "", "DRM_PRIME_2, composed: ");
  assertStringIncludes(error.hint ?? "", "DRM_PRIME: ");
});

test("the direct edge from dma-bufs to OpenCL is closed, and names the extension", ({ va, graph }) => {
  using cl = OpenCLContext.open({ platform: "Portable" });
  using only = new MapperGraph([dmabuf, cl]);
  using there = filled(graph, va, "GRAY8", 128, 64);
  using buffers = graph.map(there.surface, dmabuf) as unknown as Buffers;
  const error = assertThrows(() => only.map(buffers.planes[0], cl), NoRouteError);
  assertStringIncludes(error.message, "cl_khr_external_memory");
});

test("a surface's work is over when it is seen", async ({ va, graph }) => {
  using there = filled(graph, va, "NV12", 1920, 1080);
  await va.fence(there.surface).wait();
  assertEquals(va.fence(there.surface).reached(), true);
  await there.surface.finished();
});

test("a hundred maps to dma-bufs leave no fd", async ({ va, graph }) => {
  using surface = va.allocateFrame(picture("I420", 128, 64));
  const lap = () => graph.map(surface, dmabuf, { access: "read" })[Symbol.dispose]();
  lap();
  const fds = new Level(openFds);
  for (let i = 0; i < 100; i++) lap();
  await fds.assertBack("open fds");
});
