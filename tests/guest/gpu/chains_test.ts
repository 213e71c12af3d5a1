/** Surfaces of VA-API as pictures of OpenGL ES, and the other way round: in the guest with a GPU. */
import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { type Frame, host, type ImageFormat, ledger, MapperGraph, NoRouteError } from "../../../mod.ts";
import { MessageError } from "../../../src/channel/mod.ts";
import { dmabuf } from "../../../src/dmabuf/mod.ts";
import { EglContext, type EglTensor } from "../../../src/egl/mod.ts";
import type { HostTensor } from "../../../src/host/mod.ts";
import { VaapiContext, type VaapiTensor } from "../../../src/vaapi/mod.ts";
import { VulkanContext } from "../../../src/vulkan/mod.ts";
import { assertAlive } from "../../alive.ts";
import { withEnds } from "../../channel/help.ts";
import { picture, pixelsOf, randomFrame } from "../../vaapi/pixels.ts";
import { guestTest } from "../needs.ts";

const NODE = "/dev/dri/renderD128";
const FORMATS: readonly ImageFormat[] = ["RGBA", "BGRA", "GRAY8", "NV12", "I420"];
const SIZE = [128, 64] as const;

interface There {
  readonly va: VaapiContext;
  readonly egl: EglContext;
  readonly graph: MapperGraph;
}

type Surface = Frame<VaapiTensor>;
type Pictures = Frame<EglTensor>;
type Pixels = Frame<HostTensor>;

function test(name: string, fn: (there: There) => unknown): void {
  guestTest(name, async () => {
    EglContext.open()[Symbol.dispose](); // what drivers open once, and keep
    VaapiContext.open({ node: NODE })[Symbol.dispose]();
    const { alive } = ledger;
    {
      using va = VaapiContext.open({ node: NODE });
      using egl = EglContext.open();
      using graph = new MapperGraph([host, dmabuf, va, egl]);
      await fn({ va, egl, graph });
    }
    await assertAlive(alive, "alive after the test");
  }, [NODE]);
}

/** The pixels of a surface, by the copy that VA-API makes. */
function readBack(va: VaapiContext, surface: Surface): Uint8Array[] {
  using graph = new MapperGraph([host, va]);
  using copy = graph.map(surface, host, { copy: "allow", access: "read" }) as unknown as Pixels;
  return pixelsOf(copy);
}

/** The pixels of pictures, as OpenGL ES reads them. */
function drawn({ queue }: EglContext, frame: Pictures): Uint8Array[] {
  return frame.planes.map((plane) => {
    const into = new Uint8Array(plane.layout.byteLength);
    queue.read(plane, into);
    return into;
  });
}

function draw({ queue }: EglContext, frame: Pictures): Uint8Array[] {
  return frame.planes.map((plane) => {
    const bytes = crypto.getRandomValues(new Uint8Array(plane.layout.byteLength));
    queue.write(plane, bytes);
    return bytes;
  });
}

/** Writes pixels, row by row. */
function fill(frame: Pixels, planes: readonly Uint8Array[]): void {
  for (const [i, plane] of frame.planes.entries()) {
    const { shape: [rows], strides: [stride] } = plane.layout;
    const row = planes[i].length / rows;
    const bytes = plane.bytes({ access: "write" });
    for (let y = 0; y < rows; y++) bytes.set(planes[i].subarray(y * row, (y + 1) * row), y * stride);
  }
}

test("surface → dma-buf → EGL: OpenGL ES sees its pixels, and VA-API those that it draws; no byte moves", ({ va, egl, graph }) => {
  for (const format of FORMATS) {
    using pixels = randomFrame(format, ...SIZE);
    using surface = graph.map(pixels, va, { copy: "allow", access: "read" }) as unknown as Surface;
    assertEquals(readBack(va, surface), pixelsOf(pixels), `${format}: what was put`);
    {
      using seen = graph.map(surface, egl.image, { access: "read" }) as unknown as Pictures;
      assertEquals([seen.route.bytesMoved, seen.info], [0, surface.info]);
      assertEquals(drawn(egl, seen), pixelsOf(pixels), `${format}: what OpenGL ES sees`);
    }
  }
  for (const format of FORMATS) {
    using surface = va.allocateFrame(picture(format, ...SIZE));
    let bytes: Uint8Array[];
    {
      using target = graph.map(surface, egl.image) as unknown as Pictures;
      assertEquals(target.route.steps.map(({ edge, transfer }) => `${edge} ${transfer}`), ["vaapi→egl.image alias"]);
      bytes = draw(egl, target);
    }
    assertEquals(readBack(va, surface), bytes, `${format}: what OpenGL ES drew`);
  }
});

test("EGL → dma-buf → surface: VA-API sees what was drawn, and OpenGL ES what it puts", ({ va, egl, graph }) => {
  for (const format of ["RGBA", "BGRA", "GRAY8"] as const) {
    using pictures = egl.image.allocate({ format, width: SIZE[0], height: SIZE[1] }) as Pictures;
    const bytes = draw(egl, pictures);
    {
      using surface = graph.map(pictures, va, { access: "read" }) as unknown as Surface;
      assertEquals(surface.route.bytesMoved, 0);
      assertEquals(readBack(va, surface), bytes, `${format}: what VA-API sees`);
    }
    const put = bytes.map((plane) => plane.map((byte) => byte ^ 0xff));
    {
      using surface = graph.map(pictures, va, { access: "write" }) as unknown as Surface;
      using copy = graph.map(surface, host, { copy: "allow", access: "write" }) as unknown as Pixels;
      fill(copy, put);
    }
    assertEquals(drawn(egl, pictures), put, `${format}: what VA-API put`);
  }
});

/** The one value of each plane's bytes, or all that are there. */
const valuesOf = (frame: Pixels) => pixelsOf(frame).map((plane) => [...new Set(plane)]);

test("what OpenGL ES draws reaches the CPU by the driver's copy, and not by dma-bufs, whose pages know nothing of it", ({ va, egl, graph }) => {
  using surface = va.allocateFrame(picture("NV12", ...SIZE));
  {
    using target = graph.map(surface, egl.image, { access: "write" }) as unknown as Pictures;
    for (const [i, plane] of target.planes.entries()) egl.queue.fill(plane, Array(4).fill((i + 1) / 5));
  }
  using seen = graph.map(surface, host, { copy: "allow", access: "read" }) as unknown as Pixels;
  assertEquals(valuesOf(seen), [[51], [102]], `${seen.route}`);
  using vulkan = VulkanContext.open();
  using wide = new MapperGraph([host, dmabuf, vulkan]);
  using buffers = graph.map(surface, dmabuf, { access: "read" });
  for (const target of [host, vulkan]) {
    const error = assertThrows(() => wide.map(buffers, target, { access: "read" }), NoRouteError);
    assertStringIncludes(error.message, "virtio_gpu");
  }
});

test("a picture of OpenGL ES's own reaches the CPU by its copy: the dma-buf that comes out only names it", ({ egl }) => {
  using graph = new MapperGraph([host, dmabuf, egl]);
  using pictures = egl.image.allocate({ format: "RGBA", width: SIZE[0], height: SIZE[1] }) as Pictures;
  const bytes = draw(egl, pictures);
  using seen = graph.map(pictures, host, { copy: "allow", access: "read" }) as unknown as Pixels;
  assertEquals(seen.route!.steps.map(({ edge }) => edge), ["egl.image→host"]);
  assertEquals(pixelsOf(seen), bytes);
  assertThrows(() => graph.map(pictures, dmabuf, { access: "read" }), NoRouteError, "the driver lets out 4096 bytes");
});

test("a dma-buf of the GPU's that comes by a channel is not memory of Vulkan's on the CPU", async ({ va, graph }) => {
  using vulkan = VulkanContext.open();
  using surface = va.allocateFrame(picture("GRAY8", ...SIZE));
  using buffers = graph.map(surface, dmabuf, { access: "read" });
  await withEnds(async ({ one, other }) => {
    await one.send(buffers);
    await assertRejects(() => other.receive(), MessageError, "no context of this side takes it");
  }, { contexts: [vulkan] });
});

test("surface → host → Vulkan on the CPU, which would map the dma-bufs, and has the pixels from the driver's copy", async ({ va, graph }) => {
  using vulkan = VulkanContext.open();
  using wide = new MapperGraph([host, dmabuf, va, vulkan]);
  using pixels = randomFrame("NV12", ...SIZE);
  using surface = graph.map(pixels, va, { copy: "allow", access: "read" }) as unknown as Surface;
  using onDevice = wide.map(surface, vulkan, { copy: "allow", access: "read" });
  const { steps } = onDevice.route;
  assertEquals(steps.map(({ edge, transfer }) => `${edge} ${transfer}`), ["vaapi→host copy", "host→vulkan alias"]);
  for (const [i, plane] of onDevice.planes.entries()) {
    const into = new Uint8Array(plane.layout.byteLength);
    vulkan.queue.read(plane, into);
    assertEquals(into, pixelsOf(pixels)[i]);
  }
  await onDevice[Symbol.asyncDispose]();
});
