import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, DisposedError, LayoutError } from "@samepage/interop";
import { VulkanContext, type VulkanFormatName, type VulkanImage, type VulkanTensor } from "@samepage/interop/vulkan";
import { VULKAN_FORMATS } from "../../src/vulkan/images/formats.ts";
import { shader, test } from "./help.ts";

const RGBA = "R8G8B8A8_UNORM";
const SIZE = { shape: [33, 70, 4] } as const;
const BYTES = 33 * 70 * 4;

/** Bytes that differ from their neighbours. */
function pattern(length: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, i) => (i * 31) % 251);
}

/** All pixels of an image, without gaps. */
function pixelsOf(image: VulkanImage): Uint8Array {
  const seen = new Uint8Array(image.layout.byteLength);
  (image.target.context as VulkanContext).queue.read(image, seen);
  return seen;
}

test("a new image is zero, and has what was written, in every order of its pixels", (vulkan) => {
  const target = vulkan.image(RGBA);
  for (const tiling of ["optimal", "linear"] as const) {
    using image = target.allocate({ ...SIZE, tiling });
    assertEquals(new Set(pixelsOf(image)), new Set([0]));
    const before = vulkan.bytesCopied;
    vulkan.queue.write(image, pattern(BYTES));
    assertEquals(pixelsOf(image), pattern(BYTES));
    assertEquals(vulkan.bytesCopied - before, 2 * BYTES);
    assertEquals([image.width, image.height, image.format.vulkan], [70, 33, RGBA]);
    assertEquals(
      [image.modifier, image.handle.rows === undefined],
      tiling === "linear" ? [0n, false] : [undefined, true],
    );
  }
});

test("an image larger than what bytes go through comes and goes in parts", (vulkan) => {
  using image = vulkan.image("R16G16B16A16_UNORM").allocate({ shape: [700, 1000, 4] });
  const all = pattern(700 * 1000 * 8);
  vulkan.queue.write(image, all);
  assertEquals(pixelsOf(image).findIndex((byte, i) => byte !== all[i]), -1);
});

test("a format's target is one object, and every format that the device has takes pixels", (vulkan) => {
  assertEquals(vulkan.image(RGBA), vulkan.image(RGBA));
  for (const name of Object.keys(VULKAN_FORMATS) as VulkanFormatName[]) {
    const target = vulkan.image(name);
    const { bytesPerPixel, elements, dtype } = target.format;
    const make = () => target.allocate({ shape: elements === 1 ? [3, 5] : [3, 5, elements] });
    if (target.abilities.of("optimal", 0) === undefined) {
      assertThrows(make, ArgumentError, `no images of ${name}`);
      continue;
    }
    using image = make();
    assertEquals([image.layout.dtype, image.layout.byteLength], [dtype, 15 * bytesPerPixel], name);
    const bytes = new Uint8Array(15 * bytesPerPixel).fill(0x3c); // a number in every format
    vulkan.queue.write(image, bytes);
    assertEquals(pixelsOf(image), bytes, name);
  }
});

test("a shader says which images it takes, and reads and writes them by coordinates", (vulkan) => {
  using program = vulkan.program(shader("green"));
  using kernel = program.kernel();
  assertEquals(kernel.parameters, [
    { type: "readonly rgba8 image2D", name: "from" },
    { type: "r8ui uimage2D", name: "to" },
    { type: "uint", name: "most" },
  ]);
  for (const tiling of ["optimal", "linear"] as const) {
    using from = vulkan.image(RGBA).allocate({ ...SIZE, tiling });
    using to = vulkan.image("R8_UINT").allocate({ shape: [33, 70], tiling });
    const pixels = pattern(BYTES);
    vulkan.queue.write(from, pixels);
    kernel.run({ groups: [Math.ceil(70 / 8), Math.ceil(33 / 8)] }, [from, to, 255]);
    assertEquals(pixelsOf(to), Uint8Array.from({ length: 33 * 70 }, (_, i) => 255 - pixels[4 * i + 1]));
  }
});

test("an image and a buffer are arguments of one kernel, and its queue waits for work on both", (vulkan) => {
  using program = vulkan.program(shader("invert"));
  using kernel = program.kernel();
  using image = vulkan.image(RGBA).allocate(SIZE);
  using count = vulkan.allocate({ shape: [1], dtype: "u32" });
  using queue = vulkan.createQueue();
  vulkan.queue.write(image, pattern(BYTES));
  for (let i = 0; i < 5; i++) kernel.run({ groups: [9, 5] }, [image, count], i % 2 === 0 ? { queue } : {});
  assertEquals(pixelsOf(image), pattern(BYTES).map((byte) => 255 - byte));
  const seen = new Uint32Array(1);
  vulkan.queue.read(count, seen);
  assertEquals(seen[0], 5);
});

test("an image of another library's is attached, and known again", (vulkan) => {
  using own = vulkan.image(RGBA).allocate(SIZE);
  vulkan.queue.write(own, pattern(BYTES));
  const { queues: [queue], ...handles } = vulkan.openDevice.handles;
  using other = VulkanContext.attach({ ...handles, queue });
  vulkan.queue.finish();
  {
    using attached = other.image(RGBA).attach(own.handle.image, SIZE);
    assertEquals(pixelsOf(attached), pattern(BYTES));
    using again = other.image(RGBA).attach(own.handle.image, SIZE);
    {
      using _ = attached.borrow("write");
      assertThrows(() => other.queue.write(again, pattern(BYTES)), AccessError);
    }
    assertThrows(
      () => other.image("R8_UINT").attach(own.handle.image, { shape: [33, 70] }),
      ArgumentError,
      "is known here as 70 × 33 pixels",
    );
  }
  assertEquals(pixelsOf(own), pattern(BYTES), "it is its maker's");
});

test("images say what is wrong with them", (vulkan) => {
  const target = vulkan.image(RGBA);
  const most = target.abilities.of("optimal", 0)!.maxWidth;
  assertThrows(() => vulkan.image("RGBA8" as typeof RGBA), ArgumentError, "format: expected one of");
  assertThrows(() => target.allocate({ shape: [4, 4] }), LayoutError, "expected [height, width, 4]");
  assertThrows(() => target.allocate({ shape: [1, most + 1, 4] }), LayoutError, `${most + 1} × 1 pixels are more than`);
  assertThrows(
    () => target.allocate({ ...SIZE, tiling: "tiled" as "linear" }),
    ArgumentError,
    "tiling: expected one of",
  );
  assertThrows(() => target.allocate({ ...SIZE, tiling: { modifiers: [] } }), ArgumentError, "list of DRM");
  assertThrows(() => target.allocate({ ...SIZE, tiling: { modifiers: [-1n] } }), ArgumentError, "tiling.modifiers[0]");
  assertThrows(() => target.allocate({ ...SIZE, tiling: { modifiers: [1n << 60n] } }), ArgumentError, "no images of");
  assertThrows(() => target.allocate({ ...SIZE, exportAs: "dma-buf" }), ArgumentError, "its own order of pixels");
  using image = target.allocate(SIZE);
  assertThrows(() => vulkan.queue.read(image, new Uint8Array(7)), LayoutError, `the ${BYTES} bytes`);
  assertThrows(() => image.slice({ shape: [1, 70, 4], dtype: "u8" }), LayoutError, "no parts");
  using program = vulkan.program(shader("green"));
  using kernel = program.kernel();
  using bytes = vulkan.image("R8_UINT").allocate({ shape: [33, 70] });
  using buffer = vulkan.allocate({ shape: [64], dtype: "u8" });
  const run = (...args: unknown[]) => () => kernel.run({ groups: [1, 1] }, args as Parameters<typeof kernel.run>[1]);
  assertThrows(run(bytes, image, 1), ArgumentError, "expected pixels of rgba unorm8, and those of");
  assertThrows(
    run(buffer, bytes, 1),
    ArgumentError,
    "expected an image of the device, got a VulkanTensor. Map an image to the context first",
  );
  using other = VulkanContext.open();
  using strange = other.image("R8_UINT").allocate({ shape: [33, 70] });
  assertThrows(run(image, strange, 1), ArgumentError, "belongs to another context");
  const read = bytes.borrow("read");
  assertThrows(run(image, read, 1), AccessError, "may be written");
  read[Symbol.dispose]();
  bytes[Symbol.dispose]();
  assertThrows(run(image, bytes, 1), DisposedError);
});

test("an image and its view outlive the work on them", async (vulkan) => {
  using program = vulkan.program(shader("invert"));
  using kernel = program.kernel();
  using count = vulkan.allocate({ shape: [1], dtype: "u32" });
  const image = vulkan.image(RGBA).allocate(SIZE);
  kernel.run({ groups: [9, 5] }, [image, count]);
  const fence = vulkan.queue.fence();
  image.disposeAfter(fence);
  await fence.wait();
  assert(fence.reached());
});

test("fill() gives an image a colour, as shaders read it", (vulkan) => {
  const cases = [[RGBA, [0, 0.2, 1, 1], [0, 51, 255, 255]], ["R8G8B8A8_SINT", [-1, 5, -128, 127], [255, 5, 128, 127]]];
  for (const [format, colour, bytes] of cases as [VulkanFormatName, number[], number[]][]) {
    using image = vulkan.image(format).allocate({ shape: [2, 2, 4] });
    vulkan.queue.fill(image, colour);
    assertEquals([...pixelsOf(image)], Array(4).fill(bytes).flat());
  }
  using image = vulkan.image("R8G8B8A8_UINT").allocate({ shape: [1, 1, 4] });
  for (const colour of [[1, 2, 3], [-1, 0, 0, 0], 5]) {
    assertEquals(assertThrows(() => vulkan.queue.fill(image, colour), ArgumentError).argument, "value");
  }
});

test("copy() copies pixels between an image and a buffer", (vulkan) => {
  using image = vulkan.image(RGBA).allocate(SIZE);
  using buffer = vulkan.allocate({ shape: [BYTES + 8], dtype: "u8" });
  using part = buffer.slice({ shape: [BYTES], dtype: "u8", byteOffset: 8 }) as VulkanTensor;
  vulkan.queue.write(part, pattern(BYTES));
  vulkan.queue.copy(part, image);
  assertEquals(pixelsOf(image), pattern(BYTES));
  vulkan.queue.fill(part, 0);
  vulkan.queue.copy(image, part);
  const seen = new Uint8Array(BYTES);
  vulkan.queue.read(part, seen);
  assertEquals(seen, pattern(BYTES));
  assertThrows(() => vulkan.queue.copy(image, image), ArgumentError, "both are images");
  using short = vulkan.allocate({ shape: [BYTES - 4], dtype: "u8" });
  assertThrows(() => vulkan.queue.copy(image, short), LayoutError, "without gaps");
});
