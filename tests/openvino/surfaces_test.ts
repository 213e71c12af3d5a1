/**
 * Models on surfaces of video. No machine of the tests has Intel's GPU: the library is `gpu.c` over the real one, whose GPU
 * is the CPU, and the surfaces are those of the VA-API driver of the tests.
 */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  ArgumentError,
  DisposedError,
  type Frame,
  host,
  type HostTensor,
  imageInfo,
  InteropError,
  LayoutError,
  MapperGraph,
  NoRouteError,
} from "@samepage/interop";
import { OpenVINOContext, type OpenVINOTensor } from "@samepage/interop/openvino";
import { VaapiContext } from "@samepage/interop/vaapi";
import { NODE } from "../vaapi/driver.ts";
import { driverTest, type There } from "../vaapi/help.ts";
import { randomFrame } from "../vaapi/pixels.ts";
import { asked, simulated } from "./gpu.ts";
import { unary } from "./models.ts";
import { missing } from "./help.ts";

const [WIDTH, HEIGHT] = [64, 32];
const PLANAR = unary("Relu", "f32", [1, 3, HEIGHT, WIDTH]);
const PREPROCESS = { x: { format: "NV12", dtype: "u8", modelLayout: "NCHW" } } as const;
const OUTPUT = 4 * 3 * HEIGHT * WIDTH;

/** A test on the driver, with a context on its display. */
function test(name: string, use: (there: There & { readonly ov: OpenVINOContext }) => unknown): void {
  driverTest(
    `openvino: ${name}`,
    [],
    async ({ va }) => {
      using ov = OpenVINOContext.open({ library: simulated(), on: va });
      using graph = new MapperGraph([host, va, ov]);
      await use({ va, graph, ov });
    },
    0,
    missing,
  );
}

function compiled(ov: OpenVINOContext) {
  return ov.compileSync(PLANAR, { preprocess: PREPROCESS, copy: "allow" });
}

/** A surface of random pixels. */
function surfaceOf(graph: MapperGraph, va: VaapiContext, pixels: Frame<HostTensor>) {
  return graph.map(pixels, va, { copy: "allow", access: "read" });
}

/** What the model makes of a frame of the host's, on the CPU. */
function expectedOf(pixels: Frame<HostTensor>): Float32Array<ArrayBuffer> {
  using ov = OpenVINOContext.open({ library: simulated() });
  using graph = new MapperGraph([host, ov]);
  using session = ov.compileSync(PLANAR, { preprocess: PREPROCESS });
  using x = graph.map(pixels, ov, { access: "read" });
  using y = session.run({ x }).y;
  using seen = graph.map(y, host);
  return Float32Array.from(seen.view() as Float32Array);
}

test("run() reads both planes of a surface in place, and the CPU has the outputs", async ({ va, graph, ov }) => {
  const before = [asked().surfaces_taken, asked().surfaces_expected] as number[];
  using session = await ov.compile(PLANAR, { preprocess: PREPROCESS, copy: "allow" });
  assertEquals([ov.device, asked().va_display, asked().contexts_alive], ["GPU", va.handle, 1]);
  for (const run of [1, 2]) {
    using pixels = randomFrame("NV12");
    const expected = expectedOf(pixels);
    using surface = surfaceOf(graph, va, pixels);
    using x = graph.map(surface, ov, { access: "read" });
    assertEquals([x.route!.bytesMoved, String(x.route).includes("by its va-surface")], [0, true]);
    using y = (run === 1 ? session.run({ x }) : await session.runAsync({ x })).y;
    using seen = graph.map(y, host);
    assertEquals(seen.view(), expected);
    assertEquals(ov.bytesCopied, run * OUTPUT);
  }
  assertEquals([asked().surfaces_taken, asked().surfaces_expected], [before[0] + 4, before[1] + 1]);
});

test("run() writes an output of the host's, and counts it as copied", ({ graph, ov }) => {
  using session = compiled(ov);
  using pixels = randomFrame("NV12");
  const expected = expectedOf(pixels);
  using result = host.allocate({ shape: [1, 3, HEIGHT, WIDTH], dtype: "f32" });
  {
    using x = graph.map(pixels, ov, { access: "read", copy: "allow" }); // by way of a new surface
    using y = graph.map(result, ov, { access: "write" });
    session.run({ x }, { y });
  }
  assertEquals([result.view(), ov.bytesCopied], [expected, OUTPUT]);
});

test("compile() asks for permission to copy the outputs", ({ ov }) => {
  assertThrows(
    () => ov.compileSync(PLANAR, { preprocess: PREPROCESS }),
    ArgumentError,
    "OpenVINO copies y through memory of its own: GPU has memory of its own.",
  );
});

test("map() refuses all but surfaces of NV12 on the same display, and says what to do", ({ va, graph, ov }) => {
  using other = VaapiContext.open({ node: NODE });
  using apart = new MapperGraph([other, ov]);
  using there = other.allocateFrame(imageInfo({ format: "NV12", width: WIDTH, height: HEIGHT }));
  assertThrows(() => apart.map(there, ov), NoRouteError, "it belongs to another context than the one in which models");
  using rgba = va.allocateFrame(imageInfo({ format: "RGBA", width: WIDTH, height: HEIGHT }));
  assertThrows(() => graph.map(rgba, ov), NoRouteError, "OpenVINO takes surfaces of NV12, as whole frames.");
  using surface = va.allocateFrame(imageInfo({ format: "NV12", width: WIDTH, height: HEIGHT }));
  assertThrows(() => graph.map(surface.planes[0], ov), NoRouteError, "a surface is mapped as a whole.");
  using pixels = randomFrame("NV12");
  assertThrows(() => graph.map(pixels, ov), NoRouteError, "models in a VaapiContext take frames that are surfaces.");
});

test("a surface's planes have no address and no parts, and do not go to the CPU from here", ({ va, graph, ov }) => {
  using surface = va.allocateFrame(imageInfo({ format: "NV12", width: WIDTH, height: HEIGHT }));
  using x = graph.map(surface, ov, { access: "read" }) as unknown as Frame<OpenVINOTensor>;
  const [luma] = x.planes;
  assertThrows(() => luma.address, InteropError, "only the driver knows where a surface's bytes lie");
  assertThrows(() => luma.slice({ shape: [2, WIDTH], dtype: "u8" }), LayoutError, "a surface's plane has no parts.");
  luma.borrow("read")[Symbol.dispose]();
  assertThrows(() => graph.map(x, host), NoRouteError, "whose bytes OpenVINO does not show to the CPU");
  assertThrows(() => graph.map(luma, host), NoRouteError, "whose bytes OpenVINO does not show to the CPU");
});

test("run() refuses a frame of another size, before any native call", ({ va, graph, ov }) => {
  using session = compiled(ov);
  using surface = va.allocateFrame(imageInfo({ format: "NV12", width: 2 * WIDTH, height: HEIGHT }));
  using x = graph.map(surface, ov, { access: "read" });
  assertThrows(() => session.run({ x }), LayoutError, `expected the shape [1,${HEIGHT},${WIDTH},1]`);
});

test("a run in flight holds its surface, also when all is disposed in any order", async ({ va, graph, ov }) => {
  const surfaces = va.createPool(imageInfo({ format: "NV12", width: WIDTH, height: HEIGHT }), 2);
  const session = compiled(ov);
  for (const order of [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]]) {
    const surface = surfaces.take();
    const x = graph.map(surface, ov, { access: "read" });
    const run = session.runAsync({ x });
    const all = [
      () => x[Symbol.dispose](),
      () => surface[Symbol.dispose](),
      () => run.then(({ y }) => y[Symbol.dispose]()),
    ];
    for (const i of order) await all[i]();
  }
  {
    using surface = va.allocateFrame(imageInfo({ format: "NV12", width: WIDTH, height: HEIGHT }));
    const x = graph.map(surface, ov, { access: "read" });
    const run = session.runAsync({ x }).then(() => "over", (error) => error);
    va[Symbol.dispose](); // all that is on the display ends first
    const end = await run;
    assert(end === "over" || end instanceof DisposedError, String(end));
    assertThrows(() => session.run({ x }), DisposedError);
    assertEquals(asked().contexts_alive, 0);
  }
});

test("explain() says why a context on the CPU takes no surface, and no cl_mem", ({ va }) => {
  using ov = OpenVINOContext.open({ library: simulated() });
  using graph = new MapperGraph([va, ov]);
  using surface = va.allocateFrame(imageInfo({ format: "NV12", width: WIDTH, height: HEIGHT }));
  const said =
    "models in this context do not run in the context that the memory belongs to. Open one on it: OpenVINOContext.open";
  assertStringIncludes(String(graph.explain(surface, ov)), said);
  assertEquals(ov.closedRemote.remedy, "Open one on it: OpenVINOContext.open({ on }).");
});
