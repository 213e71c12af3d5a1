// A frame as images: one for each plane, of the format's type and as many channels as the plane's pixels have. PoCL 3.1 and
// rusticl on llvmpipe have no images of RG, and refuse NV12: frame_images_simulated_test.ts has a driver that takes it.

import { assert, assertEquals } from "@std/assert";
import { AccessError, Frame, host, type ImageFormat, imageInfo, NoRouteError } from "@samepage/interop";
import type { OpenCLImage, OpenCLImageFormat, PixelFormat } from "@samepage/interop/opencl";
import { assertBytes, type Bench, bench, random, testEach, thrown } from "./help.ts";
import { copier } from "./image_kernels.ts";

const R8: OpenCLImageFormat = { order: "R", type: "UNSIGNED_INT8" };
const SIZE = { width: 64, height: 32 } as const;

/** Copies each plane of a frame of images to that of another. */
function copyPlanes({ cl }: Bench, from: Frame<OpenCLImage>, to: Frame<OpenCLImage>): void {
  for (const [i, plane] of from.planes.entries()) {
    using kernel = copier(cl, plane.type, plane.format);
    kernel.run({ items: [...plane.image.extent] }, [plane, to.planes[i]]);
    kernel.program[Symbol.dispose]();
  }
}

function frameOf(format: ImageFormat): Frame<ReturnType<typeof host.allocate>> {
  const frame = host.allocateFrame(imageInfo({ format, ...SIZE }));
  for (const plane of frame.planes) plane.bytes().set(random(plane.layout.byteLength));
  return frame as never;
}

const ONE_CHANNEL: readonly ImageFormat[] = ["GRAY8", "I420", "YV12", "YUV444"];
const ORDER_BY_CHANNELS = ["", "R", "RG", "", "RGBA"];

for (const format of [...ONE_CHANNEL, "NV12", "RGBA"] as const) {
  testEach(`a frame of ${format} becomes an image for each plane, and comes back`, (platform) => {
    using b = bench(platform);
    using from = frameOf(format);
    using to = frameOf(format);
    from.metadata.set("source", { sequence: 5 });
    const target = b.cl.image(format === "RGBA" ? { ...R8, order: "RGBA" } : R8);
    if (format === "NV12" && !b.cl.imageFormats("2D").some(isRG)) {
      const { refused } = thrown(NoRouteError, () => b.graph.map(from, target));
      assert(refused.some(({ reason }) => reason.includes("no 2D images of RG UNSIGNED_INT8")), String(refused));
      return;
    }
    {
      using source = b.graph.map(from, target, { access: "read" });
      using sink = b.graph.map(to, target);
      assertEquals(
        source.planes.map(({ format, width, layout }) => [format.name, width, layout.shape]),
        from.planes.map(({ shape }) => [`${ORDER_BY_CHANNELS[shape[2] ?? 1]} UNSIGNED_INT8`, shape[1], shape]),
      );
      assertEquals([source.metadata === from.metadata, source.info], [true, from.info]);
      assertEquals(source.route.steps.map(({ edge }) => edge), ["host→opencl.image"]);
      copyPlanes(b, source, sink);
      using seen = b.graph.map(sink, host, { access: "read" });
      for (const [i, plane] of seen.planes.entries()) {
        assertBytes(plane.bytes().slice(), from.planes[i].bytes({ access: "read" }).slice(), `plane ${i}, mapped on`);
      }
    }
    for (const [i, plane] of to.planes.entries()) {
      assertBytes(plane.bytes(), from.planes[i].bytes(), `plane ${i}, back`);
    }
  });
}

function isRG({ name }: PixelFormat): boolean {
  return name === "RG UNSIGNED_INT8";
}

testEach("a frame of planes in memory of their own becomes images as well", (platform) => {
  using b = bench(platform);
  const info = imageInfo({ format: "YUV444", ...SIZE });
  const planes = [0, 1, 2].map(() => host.allocate({ shape: [SIZE.height, SIZE.width], dtype: "u8" }));
  using frame = Frame.of(planes, info);
  using to = frameOf("YUV444");
  planes.forEach((plane, i) => plane.bytes().fill(i + 1));
  {
    using source = b.graph.map(frame, b.cl.image(R8), { access: "read" });
    using sink = b.graph.map(to, b.cl.image(R8), { access: "write" });
    copyPlanes(b, source, sink);
  }
  assertEquals(to.planes.map((plane) => plane.bytes()[SIZE.width]), [1, 2, 3]);
});

testEach("a frame asked for as images of other channels is refused, and becomes no 3D image", (platform) => {
  using b = bench(platform);
  const refusal = (format: ImageFormat, target: OpenCLImageFormat) => {
    using frame = frameOf(format);
    const [{ reason, remedy }] = b.graph.explain(frame, b.cl.image(target)).refused;
    return [reason, remedy];
  };
  assertEquals(refusal("RGBA", R8), [
    "format: a pixel of its first plane has 4 channels, and one of R UNSIGNED_INT8 1.",
    "Ask for images of RGBA UNSIGNED_INT8.",
  ]);
  assertEquals(refusal("GRAY8", { ...R8, order: "RGBA" })[1], "Ask for images of R UNSIGNED_INT8.");
  assertEquals(refusal("BGR", R8), ["format: there are no images of 3 channels of UNSIGNED_INT8.", undefined]);
});

testEach("if one plane cannot become an image, none is lent", (platform) => {
  using b = bench(platform);
  using frame = frameOf("I420");
  {
    using _ = b.graph.map(frame.planes[2], b.cl, { access: "write" });
    thrown(AccessError, () => b.graph.map(frame, b.cl.image(R8)));
    frame.planes[0].bytes().fill(1); // nothing of it is lent
  }
  using wide = frameOf("P010");
  const { refused } = thrown(NoRouteError, () => b.graph.map(wide, b.cl.image(R8)));
  assert(refused.some(({ reason }) => reason.startsWith("dtype:")), String(refused));
  wide.planes[0].bytes().fill(1);
});

testEach("while a frame is images, its bytes are lent; images that end first give theirs back", (platform) => {
  using b = bench(platform);
  using frame = frameOf("I420");
  {
    using images = b.graph.map(frame, b.cl.image(R8));
    thrown(AccessError, () => frame.planes[1].bytes());
    thrown(AccessError, () => b.graph.map(frame, b.cl));
    using borrowed = images.borrow("read");
    assertEquals(borrowed.planes.length, 3);
  }
  frame.planes[1].bytes().fill(2);
  using _buffers = b.graph.map(frame, b.cl);
});
