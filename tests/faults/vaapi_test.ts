/** Every native call of VA-API's fails once, on the driver of the tests: what comes of it is typed, and nothing stays. */
import { assert, assertEquals } from "@std/assert";
import { type Frame, host, MapperGraph } from "../../mod.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import type { HostTensor } from "../../src/host/mod.ts";
import { VaapiContext, type VaapiTensor } from "../../src/vaapi/mod.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import { behave, buildDriver, NODE, useDriver } from "../vaapi/driver.ts";
import { picture } from "../vaapi/pixels.ts";
import { sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";

installTap();
const missing = await buildDriver();
if (missing === undefined) useDriver();

interface There {
  readonly va: VaapiContext;
  readonly graph: MapperGraph;
  readonly surface: Frame<VaapiTensor>;
  readonly pixels: Frame<HostTensor>;
}

/** The calls that were made to fail, over all tests. */
const seen = new Set<string>();

/** A driver need not tell of a configuration, derive images, export, or say what its fds allow: it is asked, and something else is done. */
const ASKED = ["vaGetConfigAttributes", "vaCreateConfig", "vaDestroyConfig", "vaQuerySurfaceAttributes"];
const SILENT = ["libc.fcntl", ...[...ASKED, "vaExportSurfaceHandle", "vaDeriveImage"].map((fn) => `vaapi.${fn}`)];

/** Whose dma-bufs a new display's surfaces are is asked of /proc, which not every process may read. */
const ASKED_OF_FDS = ["libc.open", "libc.read", "libc.close"];

function test(
  name: string,
  words: readonly string[],
  operation: (there: There) => unknown,
  silent: readonly string[] = [],
): void {
  Deno.test({
    name: `faults: vaapi: ${name}${missing === undefined ? "" : ` (skipped: needs ${missing})`}`,
    ignore: missing !== undefined,
    async fn() {
      behave(...words);
      using va = VaapiContext.open({ node: NODE });
      using graph = new MapperGraph([host, va]);
      using surface = va.allocateFrame(picture("NV12"));
      using pixels = host.allocateFrame(picture("NV12"));
      graph.map(surface, host, { copy: "allow" })[Symbol.dispose](); // what is proven once
      const there = { va, graph, surface, pixels };
      await operation(there);
      const fds = openFds();
      const faults = await sweep(() => operation(there), () => assertOpenFds(fds), [...SILENT, ...silent]);
      assert(faults.length > 0, "it makes no native call");
      for (const { call } of faults) seen.add(call);
      behave();
    },
  });
}

test("opening a context", [], () => VaapiContext.open({ node: NODE, driver: "samepage" })[Symbol.dispose]());

test("attaching to a display", [], ({ va }) => VaapiContext.attach(va.handle)[Symbol.dispose]());

test("a surface", [], ({ va }) => va.allocateFrame(picture("P010"))[Symbol.dispose]());

test("a pool", [], ({ va }) => {
  using pool = va.createPool(picture("P010"), 2);
  pool.take()[Symbol.dispose]();
});

test("an export", ["separate"], ({ va, surface }) => {
  using fds = new DisposableStack();
  for (const { fd } of va.exportFds(surface).objects) fds.defer(() => closeFd(fd));
});

test("a fence", [], async ({ va, surface }) => {
  await va.fence(surface).wait();
});

for (const words of [[], ["private"], ["plain"]]) {
  test(`a surface as host memory: ${words.join() || "in place"}`, words, ({ graph, surface }) => {
    graph.map(surface, host, { copy: "allow" })[Symbol.dispose]();
  });

  test(`host memory as a surface: ${words.join() || "in place"}`, words, ({ graph, va, pixels }) => {
    graph.map(pixels, va, { copy: "allow" })[Symbol.dispose]();
  });
}

test("the proof of a new context", [], () => {
  using va = VaapiContext.open({ node: NODE });
  using graph = new MapperGraph([host, va]);
  using surface = va.allocateFrame(picture("I420"));
  graph.map(surface, host, { copy: "allow" })[Symbol.dispose]();
}, ASKED_OF_FDS);

Deno.test({
  name: `faults: vaapi: every function that can fail has failed${missing === undefined ? "" : " (skipped)"}`,
  ignore: missing !== undefined,
  fn() {
    const wanted = [
      ...["vaSetDriverName", "vaInitialize", "vaTerminate", "vaDisplayIsValid", "vaQueryConfigProfiles"],
      ...["vaQueryConfigEntrypoints", "vaQueryImageFormats", "vaGetConfigAttributes", "vaCreateConfig"],
      ...["vaDestroyConfig", "vaQuerySurfaceAttributes", "vaCreateSurfaces", "vaDestroySurfaces", "vaSyncSurface"],
      ...["vaQuerySurfaceStatus", "vaExportSurfaceHandle", "vaCreateImage", "vaDeriveImage", "vaDestroyImage"],
      ...["vaGetImage", "vaPutImage", "vaMapBuffer", "vaUnmapBuffer"],
    ];
    assertEquals(wanted.filter((fn) => !seen.has(`vaapi.${fn}`)), []);
    assert(seen.has("vaapi_drm.vaGetDisplayDRM"));
  },
});
