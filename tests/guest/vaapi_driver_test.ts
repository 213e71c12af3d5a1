/** What no driver at hand does with real dma-bufs: three objects, tiled memory, an export that fails. In the guest. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { type Frame, host, ledger, MapperGraph, NativeCallError, NoRouteError } from "../../mod.ts";
import { dmabuf, type DmaBufTensor } from "../../src/dmabuf/mod.ts";
import type { HostTensor } from "../../src/host/mod.ts";
import { VaapiContext, type VaapiTensor } from "../../src/vaapi/mod.ts";
import { assertAlive } from "../alive.ts";
import { assertOpenFds, Level, openFds } from "../gc.ts";
import { sweep } from "../faults/sweep.ts";
import { installTap } from "../faults/tap.ts";
import { behave, buildDriver, NODE, useDriver } from "../vaapi/driver.ts";
import { assertSamePixels, picture, pixelsOf, randomFrame } from "../vaapi/pixels.ts";
import { guestTest } from "./needs.ts";

const TILED = 0x0100_0000_0000_0002n;

installTap();
if (await buildDriver() === undefined) useDriver();

interface There {
  readonly va: VaapiContext;
  readonly other: VaapiContext;
  readonly graph: MapperGraph;
}

function test(name: string, words: readonly string[], fn: (there: There) => unknown): void {
  guestTest(`vaapi: ${name}`, async () => {
    behave();
    VaapiContext.open({ node: NODE })[Symbol.dispose]();
    const [alive, fds] = [ledger.alive, openFds()];
    behave(...words);
    {
      using va = VaapiContext.open({ node: NODE });
      using other = VaapiContext.open({ node: NODE });
      using graph = new MapperGraph([host, dmabuf, va, other]);
      await fn({ va, other, graph });
    }
    behave();
    await assertAlive(alive, "alive after the test");
    assertOpenFds(fds);
  });
}

type Buffers = Frame<DmaBufTensor>;
type Surface = Frame<VaapiTensor>;
type Pixels = Frame<HostTensor>;

for (const words of [[], ["separate"], ["offset"], ["separate", "offset"]]) {
  const how = words.join() || "one object";
  test(`surface → dma-buf → host and back, the same memory: ${how}`, words, ({ graph, va }) => {
    for (const format of ["RGBA", "NV12", "I420", "YV12", "P010"] as const) {
      using pixels = randomFrame(format);
      const before = pixelsOf(pixels);
      using surface = graph.map(pixels, va, { copy: "allow" }) as unknown as Surface;
      {
        using buffers = graph.map(surface, dmabuf) as unknown as Buffers;
        assertEquals(buffers.route.steps.map(({ transfer }) => transfer), ["alias"]);
        using shown = graph.map(buffers, host) as unknown as Pixels;
        assertEquals(pixelsOf(shown), before);
        for (const [i, plane] of shown.planes.entries()) plane.bytes().fill(90 + i);
      }
      using again = graph.map(surface, host, { copy: "allow", access: "read" }) as unknown as Pixels;
      assertEquals(pixelsOf(again).map((plane) => [...new Set(plane)]), pixels.planes.map((_, i) => [90 + i]));
    }
  });

  test(`dma-buf → surface, planes at their own places: ${how}`, words, ({ graph, va, other }) => {
    using pixels = randomFrame("I420");
    using surface = graph.map(pixels, va, { copy: "allow", access: "read" }) as unknown as Surface;
    using buffers = graph.map(surface, dmabuf) as unknown as Buffers;
    using imported = graph.map(buffers, other) as unknown as Surface;
    assertEquals([imported.info, imported.target], [surface.info, other]);
    using there = graph.map(imported, host, { copy: "allow", access: "read" }) as unknown as Pixels;
    assertSamePixels(pixels, there);
  });
}

for (const words of [["no-composed"], ["no-composed", "no-separate"]]) {
  test(`a driver that takes planes otherwise: ${words.join()}`, [], ({ graph, va, other }) => {
    using pixels = randomFrame("NV12");
    using surface = graph.map(pixels, va, { copy: "allow", access: "read" }) as unknown as Surface;
    using buffers = graph.map(surface, dmabuf) as unknown as Buffers;
    behave(...words);
    using imported = graph.map(buffers, other) as unknown as Surface;
    behave();
    using there = graph.map(imported, host, { access: "read" }) as unknown as Pixels;
    assertSamePixels(pixels, there);
  });
}

test("a driver that takes no memory says so, and why", [], ({ graph, va, other }) => {
  using surface = va.allocateFrame(picture("NV12"));
  using buffers = graph.map(surface, dmabuf) as unknown as Buffers;
  behave("no-composed", "no-separate", "no-prime");
  const error = assertThrows(() => graph.map(buffers, other), NativeCallError, "vaCreateSurfaces");
  behave();
  assertStringIncludes(error.hint!, "DRM_PRIME_2, composed: VA_STATUS_ERROR_INVALID_PARAMETER");
  assertStringIncludes(error.hint!, "DRM_PRIME: VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE");
});

test("a tiled picture keeps all 64 bits of its modifier, and is not for the CPU", [
  "separate",
  `modifier=0x${TILED.toString(16)}`,
], ({ graph, va, other }) => {
  using surface = va.allocateFrame(picture("NV12"));
  using buffers = graph.map(surface, dmabuf) as unknown as Buffers;
  assertEquals([buffers.info, buffers.planes[1].modifier], [surface.info, TILED]);
  const error = assertThrows(() => graph.map(buffers, host), NoRouteError);
  assertStringIncludes(error.message, "I915_FORMAT_MOD_Y_TILED");
  using imported = graph.map(buffers, other) as unknown as Surface;
  assertEquals(imported.info, surface.info);
});

test("an export that fails after it has made fds leaves none", ["separate"], ({ graph, va }) => {
  using surface = va.allocateFrame(picture("I420"));
  behave("separate", "export-fails");
  const before = openFds();
  for (let i = 0; i < 100; i++) assertThrows(() => graph.map(surface, dmabuf), NativeCallError, "OPERATION_FAILED");
  assertOpenFds(before);
});

test("a tensor outlives nothing that it points into", ["separate"], ({ graph, va }) => {
  const surface = va.allocateFrame(picture("NV12"));
  const buffers = graph.map(surface, dmabuf) as unknown as Buffers;
  const shown = graph.map(buffers, host) as unknown as Pixels;
  const view = shown.planes[1].bytes();
  surface[Symbol.dispose]();
  assertEquals([view.length, shown.resource.state, buffers.resource.state], [0, "freed", "freed"]);
});

test("a hundred maps of three objects, and of one, leave no fd", ["separate"], async ({ graph, va, other }) => {
  using surface = va.allocateFrame(picture("I420"));
  behave();
  using single = va.allocateFrame(picture("NV12"));
  using buffers = graph.map(single, dmabuf) as unknown as Buffers;
  const lap = () => {
    graph.map(surface, dmabuf)[Symbol.dispose]();
    graph.map(buffers, other)[Symbol.dispose]();
  };
  lap();
  const fds = new Level(openFds);
  for (let i = 0; i < 100; i++) lap();
  await fds.assertBack("open fds");
});

/**
 * Runs it once for each of its native calls, and has that call fail: nothing stays open but what could not be closed.
 *
 * @param silent drivers know one way or another of telling where planes lie: both are tried
 */
async function sweepOf(operation: () => void, silent: readonly string[]): Promise<void> {
  operation(); // makes what is made once
  let fds = openFds();
  const intact = (failed?: string) => {
    if (failed === "libc.close") fds = openFds();
    assertOpenFds(fds);
  };
  const faults = await sweep(operation, intact, silent);
  assert(faults.length > 5, `${faults.length} faults`);
}

test("every native call of an export of three objects fails once", ["separate"], async ({ graph, va }) => {
  using surface = va.allocateFrame(picture("I420"));
  await sweepOf(() => graph.map(surface, dmabuf)[Symbol.dispose](), ["vaapi.vaExportSurfaceHandle"]);
});

test("every native call of an import of three objects fails once", ["separate"], async ({ graph, va, other }) => {
  using surface = va.allocateFrame(picture("I420"));
  using buffers = graph.map(surface, dmabuf) as unknown as Buffers;
  await sweepOf(() => graph.map(buffers, other)[Symbol.dispose](), ["vaapi.vaCreateSurfaces"]);
});
