import { assert, assertEquals } from "@std/assert";
import { host, layout, type LayoutInit, ledger, MapperGraph, NoRouteError, region } from "@samepage/interop";
import type { ImageType, OpenCLContext, OpenCLImageFormat } from "@samepage/interop/opencl";
import { randomPixels } from "../../src/opencl/images/specimen.ts";
import { elementsOf } from "../conformance/bytes.ts";
import { assertBytes, bench, open, random, testEach, thrown, warningsOf } from "./help.ts";
import { BROKEN, copier } from "./image_kernels.ts";

const R8: OpenCLImageFormat = { order: "R", type: "UNSIGNED_INT8" };
const RGBA8: OpenCLImageFormat = { order: "RGBA", type: "UNSIGNED_INT8" };

testEach("every format that the device has comes through a kernel, and back to the host", (platform) => {
  using b = bench(platform);
  for (const format of b.cl.imageFormats("2D")) {
    const target = b.cl.image(format);
    const init = { shape: [3, 5, format.elements], dtype: format.dtype };
    using from = host.allocate(init);
    using to = host.allocate(init);
    const pixels = randomPixels(from.layout.byteLength, format);
    from.bytes().set(pixels);
    {
      using source = b.graph.map(from, target, { access: "read" });
      using sink = b.graph.map(to, target, { access: "write" });
      using kernel = copier(b.cl, "2D", format);
      kernel.run({ items: [5, 3] }, [source, sink]);
      kernel.program[Symbol.dispose]();
    }
    if (BROKEN[platform]?.includes(format.name)) {
      assertEquals(b.graph.explain(from, target).steps[0].transfer, "migrate");
    } else assertBytes(to.bytes(), pixels, format.name);
  }
});

/** Slices without room, with room behind their rows, and with room behind both. */
const STACKS: readonly Omit<LayoutInit, "dtype">[] = [
  { shape: [3, 7, 13, 4] },
  { shape: [3, 7, 13, 4], strides: [448, 64, 4, 1] },
  { shape: [3, 7, 13, 4], strides: [576, 64, 4, 1] },
];

/** Layouts of each kind of image, with pitches of their own, which may be as little as they like. */
const SHAPES: { readonly [T in ImageType]?: readonly Omit<LayoutInit, "dtype">[] } = {
  "1D": [{ shape: [61, 4] }],
  "2D": [{ shape: [7, 61, 4] }, { shape: [7, 61, 4], rowAlign: 64 }, { shape: [3, 5, 4], strides: [24, 4, 1] }],
  "3D": STACKS,
  "1D array": [{ shape: [5, 61, 4] }, { shape: [5, 61, 4], strides: [256, 4, 1] }],
  "2D array": STACKS,
};

testEach("every kind of image, with any pitches: to a kernel, to the host in between, and back", (platform) => {
  using b = bench(platform);
  for (const type of Object.keys(SHAPES) as ImageType[]) {
    const target = b.cl.image(RGBA8, { type });
    using kernel = copier(b.cl, type, target.format);
    for (const init of SHAPES[type]!) {
      // A slice begins in the middle of a block: what is around it stays as it is.
      using room = host.allocate({ shape: [8192], dtype: "u8" });
      const bytes = random(8192);
      room.view().set(bytes);
      const whole = layout({ ...init, dtype: "u8" });
      using source = room.slice({ ...whole, byteOffset: 64 });
      using middle = target.allocate({ shape: init.shape });
      const expected = elementsOf(source.layout, source.bytes().slice());
      // NVIDIA's driver fetches other bytes than those of slices with room between them: they are copied, if asked.
      const unsound = platform === "nvidia" && init.strides?.[0] === 576;
      const copy = unsound ? "allow" : "never";
      if (unsound) {
        const { refused } = thrown(NoRouteError, () => b.graph.map(source, target));
        assert(refused.some(({ reason }) => reason.includes("other bytes")), String(refused));
      }
      {
        using mapped = b.graph.map(source, target, { copy });
        assertEquals(mapped.route.steps[0].transfer === "copy", unsound);
        assertEquals(mapped.layout.strides, source.layout.strides);
        kernel.run({ items: [...mapped.image.extent] }, [mapped, middle]);
      }
      {
        using seen = b.graph.map(middle, host);
        assertBytes(elementsOf(seen.layout, seen.bytes()), expected, `${type}, in memory of the driver's own`);
        seen.bytes().fill(7);
      }
      {
        using mapped = b.graph.map(source, target, { access: "write", copy });
        kernel.run({ items: [...mapped.image.extent] }, [middle, mapped]);
      }
      const after = source.bytes().slice();
      assertBytes(elementsOf(source.layout, after), expected.fill(7), `${type}, back`);
      source[Symbol.dispose]();
      const end = 64 + whole.byteLength;
      assertBytes(room.view().slice(0, 64), bytes.slice(0, 64), "before the image");
      assertBytes(room.view().slice(end), bytes.slice(end), "behind the image");
    }
  }
});

testEach("rows whose pitch OpenCL cannot take are copied, where that is allowed, and there and back", (platform) => {
  using b = bench(platform);
  const target = b.cl.image(RGBA8);
  using kernel = copier(b.cl, "2D", target.format);
  using source = host.allocate({ shape: [5, 3, 4], dtype: "u8", strides: [13, 4, 1] });
  using other = host.allocate({ shape: [5, 3, 4], dtype: "u8", strides: [13, 4, 1] });
  source.view().set(random(64));
  const { refused } = thrown(NoRouteError, () => b.graph.map(source, target));
  assert(refused.some(({ remedy }) => remedy?.includes("copy")), String(refused));
  {
    using from = b.graph.map(source, target, { access: "read", copy: "allow" });
    const [{ transfer, bytesMoved, evidence }] = from.route.steps;
    assertEquals([transfer, bytesMoved, evidence?.includes("no multiple")], ["copy", 64, true]);
    using to = b.graph.map(other, target, { copy: "allow" });
    kernel.run({ items: [3, 5] }, [from, to]);
  }
  assertBytes(elementsOf(other.layout, other.view()), elementsOf(source.layout, source.view()));
  assertEquals(b.cl.bytesCopied, 3 * 64);
});

testEach("the padding behind the last row is a part of an image: memory that ends before it is copied", (platform) => {
  using b = bench(platform);
  const target = b.cl.image(R8);
  using block = host.allocate({ shape: [128], dtype: "u8" });
  const strided = (begin: number) =>
    ({ shape: [2, 8], dtype: "u8", strides: [64, 1], byteOffset: begin, byteLength: 72 }) as const;
  using fits = block.slice(strided(0));
  assertEquals(b.graph.explain(fits, target).open, true);
  fits[Symbol.dispose]();
  using short = block.slice(strided(56));
  assertEquals(b.graph.explain(short, target).open, false);
  assertEquals(b.graph.explain(short, target, { copy: "allow" }).steps[0].transfer, "copy");
});

testEach("an image and a buffer over the same bytes at a time are refused, in either order", (platform) => {
  using b = bench(platform);
  const target = b.cl.image(R8);
  using source = host.allocate({ shape: [64, 64], dtype: "u8" });
  {
    using _buffer = b.graph.map(source, b.cl, { access: "read" });
    const { open, steps } = b.graph.explain(source, target, { access: "read" });
    // Where images may lie over buffers, this one lies over that very buffer: it is not another object over the bytes.
    if (open) assertEquals(steps.map(({ edge }) => edge), ["host→opencl", "opencl→opencl.image"]);
    else {
      const error = thrown(NoRouteError, () => b.graph.map(source, target, { access: "read", copy: "allow" }));
      assert(error.message.includes("a buffer over 4096 bytes"), error.message);
    }
  }
  {
    using image = b.graph.map(source, target, { access: "read" });
    using _again = b.graph.map(source, target, { access: "read" });
    const error = thrown(NoRouteError, () => b.graph.map(source, b.cl, { access: "read" }));
    assert(error.message.includes("2D image") && error.message.includes("undefined in OpenCL"), error.message);
    const signed = b.cl.image({ order: "R", type: "UNORM_INT8" });
    thrown(NoRouteError, () => b.graph.map(source, signed, { access: "read" }));
    using part = source.slice(region(source.layout, [0, 0], [32, 64]), { access: "read" });
    thrown(NoRouteError, () => b.graph.map(part, target, { access: "read" }));
    // Through the host, while it is unknown at which address the driver will show the image.
    thrown(NoRouteError, () => b.graph.map(image, b.cl, { access: "read" }));
    assert(!b.graph.explain(image, b.cl, { access: "read" }).open);
  }
  using _ = b.graph.map(source, b.cl);
});

testEach("anything but an image of a format is refused, with the argument and what to do", (platform) => {
  using b = bench(platform);
  const refusals: readonly (readonly [LayoutInit, string])[] = [
    [{ shape: [4, 4, 4], dtype: "i8" }, "dtype"],
    [{ shape: [4, 4, 3], dtype: "u8" }, "shape"],
    [{ shape: [2, 2, 2, 2, 4], dtype: "u8" }, "shape"],
    [{ shape: [4], dtype: "u8" }, "shape"],
    [{ shape: [4, 4, 4], dtype: "u8", strides: [64, 16, 2] }, "strides"],
    [{ shape: [4, 4, 4], dtype: "u8", strides: [64, 8, 1] }, "strides"],
    [{ shape: [4, 4, 4], dtype: "u8", strides: [4, 16, 1] }, "strides"],
    [{ shape: [1, 100_000, 4], dtype: "u8" }, "shape"],
  ];
  for (const [init, argument] of refusals) {
    using source = host.allocate(init);
    const { refused } = thrown(NoRouteError, () => b.graph.map(source, b.cl.image(RGBA8), { copy: "allow" }));
    const [{ reason }] = refused.filter(({ edge }) => edge === "host→opencl.image");
    assert(reason.startsWith(`${argument}:`), reason);
  }
});

testEach("the channels' dimension may be left out where a pixel has one element", (platform) => {
  using b = bench(platform);
  const typeOf = (shape: number[], type?: ImageType) => {
    using image = b.cl.image(R8, type === undefined ? {} : { type }).allocate({ shape });
    return `${image.type} ${image.image.extent.join("×")}`;
  };
  assertEquals(typeOf([7]), "1D 7×1×1");
  assertEquals(typeOf([5, 7]), "2D 7×5×1");
  assertEquals(typeOf([5, 7, 1]), "2D 7×5×1");
  assertEquals(typeOf([5, 7, 1], "3D"), "3D 1×7×5");
  assertEquals(typeOf([3, 5, 7]), "3D 7×5×3");
  assertEquals(typeOf([3, 5, 7], "2D array"), "2D array 7×5×3");
  assertEquals(typeOf([5, 7], "1D array"), "1D array 7×5×1");
});

testEach("an image of the driver's own has the driver's pitches while it is mapped", (platform) => {
  using b = bench(platform);
  using image = b.cl.image(RGBA8).allocate({ shape: [7, 61, 4] });
  const bytes = random(7 * 61 * 4);
  {
    using mapped = b.graph.map(image, host, { access: "write" });
    const [row] = mapped.layout.strides;
    assert(row >= 244 && mapped.view().length === 6 * row + 244, String(row));
    for (let y = 0; y < 7; y++) mapped.bytes().set(bytes.subarray(y * 244, (y + 1) * 244), y * row);
    using line = mapped.slice(region(mapped.layout, [6, 0, 0], [1, 61, 4]));
    line.view()[0] = 99;
    bytes[6 * 244] = 99;
  }
  using mapped = b.graph.map(image, host, { access: "read" });
  assertBytes(elementsOf(mapped.layout, mapped.bytes()), bytes);
});

testEach("a view of a mapped image that was moved away keeps the image for good", async (platform) => {
  const cl = open(platform);
  const graph = new MapperGraph([host, cl]);
  const image = cl.image(R8).allocate({ shape: [8, 8] });
  const before = ledger.quarantinedBytes;
  const warnings = await warningsOf(async () => {
    await using mapped = graph.map(image, host);
    mapped.view().buffer.transfer();
  });
  assertEquals([warnings.length, ledger.quarantinedBytes > before], [1, true], warnings.join());
  image[Symbol.dispose]();
  cl[Symbol.dispose]();
  ledger.remove("opencl.cl_mem"); // it is there for good, and known
});

testEach("a sampler reads between pixels, beside the image, and by coordinates from 0 to 1", (platform) => {
  using b = bench(platform);
  using program = b.cl.program(`
    kernel void read(read_only image2d_t from, sampler_t sampler, float x, global float* to) {
      to[0] = read_imagef(from, sampler, (float2)(x, 0.5f)).x;
    }`);
  using kernel = program.kernel("read");
  using pixels = host.wrap(new Float32Array([1, 3, 5, 9]));
  using row = pixels.slice({ ...pixels.layout, shape: [1, 4], strides: [16, 4] });
  using image = b.graph.map(row, b.cl.image({ order: "R", type: "FLOAT" }), { access: "read" });
  using out = b.cl.allocate({ shape: [1], dtype: "f32" });
  const read = (init: Parameters<OpenCLContext["sampler"]>[0], x: number) => {
    using sampler = b.cl.sampler(init);
    kernel.run({ items: [1] }, [image, sampler, x, out]);
    const value = new Float32Array(1);
    b.cl.queue.read(out, value);
    return value[0];
  };
  assertEquals(read({}, 2.5), 5);
  assertEquals(read({ filter: "linear" }, 1), 2);
  assertEquals(read({ filter: "linear" }, 3), 7);
  assertEquals(read({ addressing: "clamp" }, 17), 0);
  assertEquals(read({ addressing: "clamp-to-edge" }, 17), 9);
  assertEquals(read({ normalized: true, addressing: "repeat" }, 1.125), 1);
  assertEquals(read({ normalized: true, addressing: "mirrored-repeat" }, 1.125), 9);
});
