/** What a program, or a driver, may do wrong with surfaces, and no memory is touched that is not theirs. No GPU is needed. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, Frame, host, ledger, MapperGraph, NoRouteError } from "../../mod.ts";
import { dmabuf, type DmaBufTensor } from "../../src/dmabuf/mod.ts";
import type { HostTensor } from "../../src/host/mod.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { VaapiContext, type VaapiTensor } from "../../src/vaapi/mod.ts";
import { behave, NODE } from "./driver.ts";
import { driverTest } from "./help.ts";
import { picture, pixelsOf } from "./pixels.ts";

const TILED = 0x0100_0000_0000_0002n;

type Pixels = Frame<HostTensor>;
type Surface = Frame<VaapiTensor>;

for (const words of [[], ["plain"], ["private"]]) {
  driverTest(
    `a surface that is smaller than a program says: ${words.join() || "in place"}`,
    words,
    ({ va }) => {
      using surface = va.allocateFrame(picture("NV12", 64, 32));
      using other = VaapiContext.attach(va.handle);
      using graph = new MapperGraph([host, other]);
      const tooLarge = [picture("NV12", 64, 4096), picture("NV12", 128, 32)];
      for (const info of tooLarge) {
        const error = assertThrows(() => {
          using frame = other.attach(surface.handle, info);
          graph.map(frame, host, { copy: "allow" });
        }, ArgumentError);
        assertStringIncludes(error.message, `the surface has 64 × 32 pixels, and not ${info.width} × ${info.height}`);
      }
    },
  );

  driverTest(`decoders pad surfaces, and a frame is a part of one: ${words.join() || "in place"}`, words, ({ va }) => {
    using surface = va.allocateFrame(picture("NV12", 64, 48));
    using other = VaapiContext.attach(va.handle);
    using graph = new MapperGraph([host, other]);
    using frame = other.attach(surface.handle, picture("NV12", 60, 40));
    {
      using mapped = graph.map(frame, host, { copy: "allow" }) as unknown as Pixels;
      for (const [i, plane] of mapped.planes.entries()) plane.bytes().fill(30 + i);
    }
    using mapped = graph.map(frame, host, { copy: "allow", access: "read" }) as unknown as Pixels;
    assertEquals(pixelsOf(mapped).map((pixels) => [...new Set(pixels)]), [[30], [31]]);
  });
}

driverTest("attach() refuses a format whose pixels lie otherwise than the driver reports", [], ({ va }) => {
  const all = ["GRAY8", "RGBA", "BGRA", "NV12", "P010", "I420"] as const;
  const formats = all.filter((format) => va.formats.includes(format));
  const alike = [["RGBA", "BGRA"]] as const;
  for (const stored of formats) {
    using surface = va.allocateFrame(picture(stored, 64, 32));
    for (const said of formats) {
      using other = VaapiContext.attach(va.handle);
      const attach = () => other.attach(surface.handle, picture(said, 64, 32));
      const fits = said === stored ||
        alike.some((both) => both.includes(said as never) && both.includes(stored as never));
      if (fits) attach()[Symbol.dispose]();
      else assertThrows(attach, ArgumentError, `the surface has pixels of ${stored}, and not of ${said}`);
    }
  }
});

driverTest("a driver that does not export still reports a surface's size", ["no-prime2"], ({ va }) => {
  using surface = va.allocateFrame(picture("BGRA", 64, 32));
  using other = VaapiContext.attach(va.handle);
  using graph = new MapperGraph([host, other]);
  behave("no-separate", "no-composed");
  assertThrows(() => other.attach(surface.handle, picture("BGRA", 64, 64)), ArgumentError, "memory known with 8192");
  using frame = other.attach(surface.handle, picture("BGRA", 128, 16));
  assertThrows(() => graph.map(frame, host, { copy: "allow" }), ArgumentError, "the surface has 64 × 32 pixels");
});

driverTest("an imported surface is one frame: its id is not attached again", [], ({ va }) => {
  using surface = va.allocateFrame(picture("NV12"));
  using other = VaapiContext.open({ node: NODE });
  using graph = new MapperGraph([host, va, other]);
  let id: bigint;
  {
    using imported = graph.map(surface, other) as unknown as Surface;
    id = imported.handle;
    assertThrows(() => other.attach(id, picture("NV12")), ArgumentError, "is a frame already");
    assertThrows(() => graph.map(surface, host), AccessError);
  }
  using again = other.allocateFrame(picture("NV12"));
  assertEquals(again.handle, id); // the driver gives numbers again
  using _attached = other.attach(id, picture("NV12"));
});

for (const words of [[], ["plain"]]) {
  driverTest(`memory under a view that was moved away stays: ${words.join() || "in place"}`, words, () => {
    const { quarantinedBytes: before } = ledger;
    const context = VaapiContext.open({ node: NODE });
    const graph = new MapperGraph([host, context]);
    const pool = context.createPool(picture("NV12"), 1);
    const surface = pool.take();
    const mapped = graph.map(surface, host, { copy: "allow" }) as unknown as Pixels;
    const view = mapped.planes[0].bytes().fill(7);
    const moved = structuredClone(view, { transfer: [view.buffer] });
    mapped[Symbol.dispose]();
    surface[Symbol.dispose]();
    assertEquals(pool.available, 0); // no other use gets it
    pool[Symbol.dispose]();
    context[Symbol.dispose]();
    assertEquals([...new Set(moved)], [7]);
    assert(ledger.quarantinedBytes > before);
  }, 2); // the node's, and that of the driver's memory
}

driverTest("surfaces of one layout say nothing of another's", [`modifier=0x${TILED.toString(16)}`], ({ va, graph }) => {
  const transfers = [undefined, [0n]].map((modifiers) => {
    using surface = va.allocateFrame(picture("NV12"), modifiers && { modifiers });
    using mapped = graph.map(surface, host, { copy: "allow" });
    return [(surface.info as { modifier: bigint }).modifier, mapped.route.steps[0].transfer];
  });
  assertEquals(transfers, [[TILED, "copy"], [0n, "alias"]]);
});

driverTest("the stride of one row means nothing, and no driver sees it", [], ({ va }) => {
  using surface = va.allocate({ shape: [32, 64, 4], dtype: "u8" });
  using other = VaapiContext.open({ node: NODE });
  using graph = new MapperGraph([dmabuf, va, other]);
  using buffer = graph.map(surface, dmabuf) as unknown as DmaBufTensor;
  using row = buffer.slice({ shape: [1, 64, 4], dtype: "u8", strides: [0, 4, 1], byteOffset: 256 });
  using part = Frame.of([row], picture("RGBA", 64, 1));
  using frame = graph.map(part, other) as unknown as Surface;
  const { objects, planes } = other.exportFds(frame);
  for (const { fd } of objects) closeFd(fd);
  assertEquals(planes, [{ object: 0, offset: 256, stride: 256 }]);
});

driverTest("a pool's surface comes back at once, and its next user waits for its work", [], async ({ va, graph }) => {
  using pool = va.createPool(picture("NV12"), 1);
  const first = pool.take();
  behave("busy");
  first[Symbol.dispose]();
  using next = pool.take();
  assertEquals(va.fence(next).reached(), false);
  setTimeout(behave, 5);
  await next.finished();
  using _mapped = graph.map(next, host);
});

driverTest("a pool's surface that another library has, too, comes back when both are through", [], ({ va }) => {
  using pool = va.createPool(picture("NV12"), 1);
  const first = pool.take();
  const id = first.handle;
  first[Symbol.dispose]();
  for (let lap = 0; lap < 3; lap++) {
    const attached = va.attach(id, picture("NV12"));
    pool.take()[Symbol.dispose]();
    assertEquals(pool.available, 0);
    attached[Symbol.dispose]();
    assertEquals(pool.available, 1);
  }
});

driverTest(
  "a layout that the driver does not tell is not taken for rows",
  [`modifier=0x${0x00ff_ffff_ffff_ffffn.toString(16)}`],
  ({ va }) => {
    using graph = new MapperGraph([host, dmabuf]);
    using wide = new MapperGraph([host, dmabuf, va]);
    using tensor = va.allocate({ shape: [32, 64, 4], dtype: "u8" });
    using frame = va.allocateFrame(picture("RGBA"));
    for (const source of [tensor, frame]) {
      using buffers = wide.map(source as Frame, dmabuf);
      assertThrows(() => graph.map(buffers, host), NoRouteError, "DRM_FORMAT_MOD_INVALID");
      // A tensor of bytes does not tell a modifier, and a longer route finds out only when taken that it would copy.
      assertThrows(() => wide.map(buffers, host), NoRouteError, "it would copy 16384 bytes");
      using copied = wide.map(buffers, host, { copy: "allow", access: "read" });
      assertEquals(copied.route.steps.at(-1)!.transfer, "copy");
    }
  },
);

driverTest("a tiled buffer stays tiled, whatever frame is made of it, and goes with no linear one", [], ({ va }) => {
  using other = VaapiContext.open({ node: NODE });
  using graph = new MapperGraph([host, dmabuf, va, other]);
  using linear = va.allocateFrame(picture("GRAY8", 64, 32));
  using one = graph.map(linear, dmabuf);
  using tiled = va.allocateFrame(picture("GRAY8", 64, 32), { modifiers: [TILED] });
  using two = graph.map(tiled, dmabuf) as unknown as Frame<DmaBufTensor>;
  {
    using all = new DisposableStack();
    const part = (of: Frame, shape: number[]) => all.use(of.planes[0].slice({ shape, dtype: "u8" }));
    const mixed = all.use(Frame.of([part(one, [16, 32]), part(two, [8, 16, 2])], picture("NV12", 32, 16)));
    assertThrows(() => graph.map(mixed, other), NoRouteError, "its planes lie in buffers of different layouts");
  }
  assertEquals(two.planes[0].modifier, TILED);
  assertThrows(() => graph.map(two, host), NoRouteError, "I915_FORMAT_MOD_Y_TILED");
});

driverTest("open({ on }) takes the render node of another context, and refuses where none is known", [], ({ va }) => {
  assertEquals(va.id, { node: NODE });
  using same = VaapiContext.open({ on: va, node: NODE });
  assertEquals(same.node, NODE);
  const error = assertThrows(() => VaapiContext.open({ on: host, node: NODE }), ArgumentError);
  assertEquals(error.argument, "on");
  assertStringIncludes(error.message, `${NODE} reports render node ${NODE}`);
});
