/** Surfaces, pools, images and exports, on the driver of the tests: no GPU is needed. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { AccessError, type Frame, host, NativeCallError, NoRouteError, region } from "../../mod.ts";
import type { HostTensor } from "../../src/host/mod.ts";
import { closeFd, statusOf } from "../../src/core/native/fd.ts";
import { VaapiContext, type VaapiTensor } from "../../src/vaapi/mod.ts";
import { assertOpenFds, Level, openFds } from "../gc.ts";
import { behave, NODE } from "./driver.ts";
import { driverTest } from "./help.ts";
import { assertSamePixels, picture, pixelsOf, randomFrame } from "./pixels.ts";

const TILED = 0x0100_0000_0000_0002n;
const FORMATS = ["GRAY8", "RGBA", "BGRA", "RGBX", "BGRX", "NV12", "I420", "YV12", "P010", "YUY2"] as const;

driverTest("a context says what the driver can do", [], ({ va }) => {
  assertEquals([va.name, va.node, va.version?.startsWith("1.")], ["samepage's test driver", NODE, true]);
  assertEquals(va.formats, FORMATS);
  assertEquals(va.imageFourccs.toSorted(), [
    "BGRA",
    "BGRX",
    "I420",
    "NV12",
    "P010",
    "RGBA",
    "RGBX",
    "Y800",
    "YUY2",
    "YV12",
  ]);
  const [{ refused: _, ...config }] = va.configs;
  assertEquals(config, {
    profile: "VAProfileNone",
    entrypoint: "VAEntrypointVideoProc",
    rtFormats: ["RGB32", "YUV400", "YUV420", "YUV420_10", "YUV422"],
    fourccs: ["NV12", "P010", "I420", "YV12", "YUY2", "Y800", "RGBA", "BGRA", "BGRX", "RGBX"],
    memoryTypes: ["DRM_PRIME", "DRM_PRIME_2", "VA"],
    width: { min: undefined, max: 4096 },
    height: { min: undefined, max: 4096 },
  });
});

for (const words of [[], ["private"], ["separate"], ["plain"]]) {
  driverTest(`pixels come back as they were: ${words.join() || "one object"}`, words, ({ graph, va }) => {
    let copied = 0;
    for (const format of FORMATS) {
      using frame = randomFrame(format);
      using surface = graph.map(frame, va, { copy: "allow", access: "read" });
      assertEquals(va.bytesCopied, copied += frame.byteLength);
      using back = graph.map(surface as unknown as Frame, host, { copy: "allow", access: "read" }) as unknown as Frame<
        HostTensor
      >;
      assertSamePixels(frame, back);
      copied = va.bytesCopied;
    }
  });

  driverTest(`what is written comes back: ${words.join() || "one object"}`, words, ({ graph, va }) => {
    for (const format of FORMATS) {
      using frame = randomFrame(format);
      {
        using surface = graph.map(frame, va, { copy: "allow" }) as unknown as Frame<VaapiTensor>;
        using mapped = graph.map(surface, host, { copy: "allow", access: "write" }) as unknown as Frame<HostTensor>;
        for (const [i, plane] of mapped.planes.entries()) plane.bytes().fill(40 + i);
      }
      assertEquals(pixelsOf(frame).map((pixels) => [...new Set(pixels)]), frame.planes.map((_, i) => [40 + i]));
    }
  });
}

const WAYS = [
  { words: [], transfer: "alias", evidence: "proven by aliasing both ways" },
  { words: ["private"], transfer: "migrate", evidence: "the driver did not read what the CPU had written" },
  { words: ["plain"], transfer: "copy", evidence: "the driver shows no such surface to the CPU itself" },
  { words: [`modifier=0x${TILED.toString(16)}`], transfer: "copy", evidence: "the driver shows no such surface" },
] as const;
for (const { words, transfer, evidence } of WAYS) {
  driverTest(`a surface is host memory by ${transfer}: ${words.join() || "in place"}`, words, ({ graph, va }) => {
    using surface = va.allocateFrame(picture("NV12"));
    const mapped = graph.map(surface, host, { copy: "allow" });
    const [step] = mapped.route.steps;
    assertEquals(step.transfer, transfer);
    const copied = transfer === "copy" ? surface.byteLength : 0;
    assertEquals([step.bytesMoved > 0, va.bytesCopied], [transfer !== "alias", copied]);
    mapped[Symbol.dispose]();
    assertEquals(va.bytesCopied, 2 * copied, "the way back is a copy, too");
    assertStringIncludes(step.evidence!, evidence);
    assertEquals((mapped as unknown as Frame<HostTensor>).info, picture("NV12"));
  });
}

driverTest("host memory with padded rows, and a part of some, become surfaces and come back", [], ({ graph, va }) => {
  using padded = host.allocate({ shape: [31, 61, 4], dtype: "u8", rowAlign: 256 });
  padded.bytes().fill(9);
  {
    using part = padded.slice(region(padded.layout, [3, 5, 0], [11, 17, 4]));
    using surface = graph.map(part, va, { copy: "allow" });
    assertEquals([surface.layout.shape, surface.handle.info.format], [[11, 17, 4], "RGBA"]);
    using mapped = graph.map(surface, host) as HostTensor;
    assertEquals(mapped.bytes()[0], 9);
    mapped.bytes().fill(3);
  }
  assertEquals(padded.bytes().filter((byte) => byte === 3).length, 11 * 17 * 4);
});

driverTest("a copy is refused unless it is allowed", ["plain"], ({ graph, va }) => {
  using surface = va.allocateFrame(picture("NV12"));
  const error = assertThrows(() => graph.map(surface, host), NoRouteError);
  assertStringIncludes(error.message, "vaapi→host");
});

driverTest("a modifier of 64 bits survives", ["separate", `modifier=0x${TILED.toString(16)}`], ({ va }) => {
  using surface = va.allocateFrame(picture("NV12"));
  assertEquals((surface.info as { modifier: bigint }).modifier, TILED);
  const { modifier, objects } = va.exportFds(surface);
  for (const { fd } of objects) closeFd(fd);
  assertEquals(modifier, TILED);
});

for (const layers of ["separate", "composed"] as const) {
  driverTest(`an export has ${layers} layers, each plane at its own place`, ["offset"], ({ va }) => {
    using surface = va.allocateFrame(picture("I420"));
    const { objects, planes, width, height } = va.exportFds(surface, { layers, access: "read" });
    for (const { fd } of objects) closeFd(fd);
    assertEquals([width, height, objects.length], [64, 32, 1]);
    assertEquals(planes, [
      { object: 0, offset: 4096, stride: 64 },
      { object: 0, offset: 4096 + 64 * 32, stride: 64 },
      { object: 0, offset: 4096 + 64 * 48, stride: 64 },
    ]);
  });
  driverTest(`a driver without ${layers} layers exports the others`, [`no-${layers}`], ({ va }) => {
    using surface = va.allocateFrame(picture("NV12"));
    const { objects, planes } = va.exportFds(surface);
    for (const { fd } of objects) closeFd(fd);
    assertEquals(planes.length, 2);
    assertThrows(() => va.exportFds(surface, { layers }), NativeCallError, "VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE");
  });
}

driverTest("every fd of a surface of three objects is the caller's", ["separate"], ({ va }) => {
  using surface = va.allocateFrame(picture("YV12"));
  const before = openFds();
  const { objects } = va.exportFds(surface);
  assertEquals([objects.length, openFds() - before], [3, 3]);
  assertEquals(new Set(objects.map(({ fd }) => statusOf(fd).identity)).size, 3);
  for (const { fd } of objects) closeFd(fd);
});

driverTest("an export that fails after it has made fds leaves none", ["separate"], ({ va }) => {
  using surface = va.allocateFrame(picture("YV12"));
  const before = openFds();
  behave("separate", "export-fails");
  assertThrows(
    () => va.exportFds(surface),
    NativeCallError,
    "vaExportSurfaceHandle failed with VA_STATUS_ERROR_OPERATION",
  );
  assertOpenFds(before);
});

driverTest(
  "an export that describes other objects than it made is refused, and leaves no fd",
  ["separate"],
  ({ va }) => {
    using surface = va.allocateFrame(picture("YV12"));
    const before = openFds();
    behave("separate", "export-lies");
    assertThrows(() => va.exportFds(surface), NativeCallError, "The driver reports 3 planes of YV12 in 3 objects.");
    assertOpenFds(before);
  },
);

driverTest("work of the device is a fence, and everything waits for it", [], async ({ graph, va }) => {
  using surface = va.allocateFrame(picture("NV12"));
  behave("busy");
  assertEquals([va.fence(surface).reached(), surface.planes[0].handle.isBusy], [false, true]);
  let over = false;
  const finished = surface.finished().then(() => over = true);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assertEquals(over, false);
  behave();
  await finished;
  assertEquals(va.fence(surface).reached(), true);
  using _mapped = graph.map(surface, host);
});

driverTest("a surface of another library's is waited for, and stays", [], ({ graph, va }) => {
  using own = va.allocateFrame(picture("BGRA"));
  using other = VaapiContext.attach(va.handle);
  {
    using surface = other.attach(own.handle, picture("BGRA"));
    assert(surface.grants[0].allocation === own.grants[0].allocation);
    using writer = graph.map(own, host) as unknown as Frame<HostTensor>;
    assertThrows(() => surface.borrow("read"), AccessError);
    writer.planes[0].bytes().fill(3);
  }
  using mapped = graph.map(own, host) as unknown as Frame<HostTensor>;
  assertEquals(mapped.planes[0].bytes()[5], 3);
});

driverTest("a pool makes its surfaces once", [], ({ va }) => {
  using pool = va.createPool(picture("NV12"), 2);
  const one = pool.take();
  const id = one.handle;
  using two = pool.take();
  assert(two.handle !== id);
  assertEquals(pool.available, 0);
  assertThrows(() => pool.take(), AccessError, "all 2 surfaces");
  one[Symbol.dispose]();
  using again = pool.take();
  assertEquals(again.handle, id);
});

driverTest("ten thousand maps leave nothing", [], async ({ graph, va }) => {
  using surface = va.allocateFrame(picture("NV12"));
  const lap = () => graph.map(surface, host)[Symbol.dispose]();
  lap();
  const fds = new Level(openFds);
  for (let i = 0; i < 10_000; i++) lap();
  await fds.assertBack("open fds");
});

driverTest("ten thousand exports of three objects leave nothing", ["separate"], async ({ va }) => {
  using surface = va.allocateFrame(picture("I420"));
  const fds = new Level(openFds);
  for (let i = 0; i < 10_000; i++) for (const { fd } of va.exportFds(surface).objects) closeFd(fd);
  await fds.assertBack("open fds");
});
