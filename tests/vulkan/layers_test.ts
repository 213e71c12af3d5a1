/** Images with layers: each pixel of each layer, through copies, shaders and another `VkDevice`. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ArgumentError, host, LayoutError, MapperGraph, NoRouteError } from "@samepage/interop";
import { dmabuf } from "@samepage/interop/dmabuf";
import { VulkanContext, type VulkanImage } from "@samepage/interop/vulkan";
import { assertSame } from "../conformance/bytes.ts";
import { shader, test } from "./help.ts";
import { pattern } from "./pattern.ts";

const FORMAT = "R8G8B8A8_UINT";
/** No power of two, and one layer alone. */
const SHAPES = [[5, 33, 70, 4], [1, 7, 13, 4], [64, 2, 3, 4]] as const;

function lengthOf(shape: readonly number[]): number {
  return shape.reduce((product, count) => product * count, 1);
}

function pixelsOf(image: VulkanImage): Uint8Array {
  const seen = new Uint8Array(image.layout.byteLength);
  (image.target.context as VulkanContext).queue.read(image, seen);
  return seen;
}

/** What `layers.comp` makes of an image's bytes. */
function reversed(bytes: Uint8Array, layers: number): Uint8Array {
  const each = bytes.length / layers;
  const made = new Uint8Array(bytes.length);
  for (let i = 0; i < layers; i++) {
    made.set(bytes.subarray(i * each, (i + 1) * each).map((byte) => byte + i), (layers - 1 - i) * each);
  }
  return made;
}

test("an image with layers is zero in all of them, and has what was written", (vulkan) => {
  for (const shape of SHAPES) {
    using image = vulkan.image(FORMAT).allocate({ shape });
    assertEquals(new Set(pixelsOf(image)), new Set([0]));
    const before = vulkan.bytesCopied;
    const bytes = pattern(lengthOf(shape), 1);
    vulkan.queue.write(image, bytes);
    assertSame(pixelsOf(image), bytes, `${shape}`);
    assertEquals(vulkan.bytesCopied - before, 2 * bytes.length);
    assertEquals([image.layers, image.height, image.width, image.layout.shape], [shape[0], shape[1], shape[2], shape]);
  }
});

test("layers come and go in parts: several at a time, or the rows of one", (vulkan) => {
  for (const shape of [[40, 200, 160, 4], [3, 700, 1600, 4]]) {
    using image = vulkan.image(FORMAT).allocate({ shape });
    const bytes = pattern(lengthOf(shape), 7);
    vulkan.queue.write(image, bytes);
    assertSame(pixelsOf(image), bytes, `${shape}`);
  }
});

test("the channels' dimension may be left out of layers, too; a last dimension of 1 is theirs", (vulkan) => {
  const sizeOf = (shape: readonly number[]) => {
    using image = vulkan.image("R8_UINT").allocate({ shape });
    return [image.layers, image.height, image.width];
  };
  assertEquals(sizeOf([5, 33, 70]), [5, 33, 70]);
  assertEquals(sizeOf([5, 33, 70, 1]), [5, 33, 70]);
  assertEquals(sizeOf([33, 70, 1]), [undefined, 33, 70]);
  assertEquals(sizeOf([33, 1]), [undefined, 33, 1]);
});

test("a shader reads and writes the layers of image2DArrays, and takes no other images for them", (vulkan) => {
  using program = vulkan.program(shader("layers"));
  using kernel = program.kernel();
  assertEquals(kernel.parameters.map(({ type }) => type), [
    "readonly rgba8ui uimage2DArray",
    "rgba8ui uimage2DArray",
  ]);
  const target = vulkan.image(FORMAT);
  for (const shape of SHAPES) {
    const [layers, height, width] = shape;
    using from = target.allocate({ shape });
    using to = target.allocate({ shape });
    const bytes = pattern(lengthOf(shape), 3);
    vulkan.queue.write(from, bytes);
    kernel.run({ groups: [Math.ceil(width / 8), Math.ceil(height / 8), layers] }, [from, to]);
    assertSame(pixelsOf(to), reversed(bytes, layers), `${shape}`);
  }
  using picture = target.allocate({ shape: [7, 13, 4] });
  using stack = target.allocate({ shape: [1, 7, 13, 4] });
  assertThrows(() => kernel.run({ groups: [1] }, [picture, stack]), ArgumentError, "is one picture");
  using plain = vulkan.program(shader("green"));
  using green = plain.kernel();
  using layered = vulkan.image("R8G8B8A8_UNORM").allocate({ shape: [2, 7, 13, 4] });
  using bytes = vulkan.image("R8_UINT").allocate({ shape: [7, 13] });
  assertThrows(() => green.run({ groups: [1, 1] }, [layered, bytes, 1]), ArgumentError, "has 2 layers");
});

test("an image with layers is another Vulkan's, in place: each sees what the other writes in all of them", (vulkan) => {
  using other = VulkanContext.open({ uuid: vulkan.id.uuid! });
  using graph = new MapperGraph([host, vulkan, other]);
  using program = other.program(shader("layers"));
  using kernel = program.kernel();
  for (const shape of SHAPES) {
    const [layers, height, width] = shape;
    using from = vulkan.image(FORMAT).allocate({ shape });
    using to = vulkan.image(FORMAT).allocate({ shape });
    const bytes = pattern(lengthOf(shape), 5);
    vulkan.queue.write(from, bytes);
    {
      using source = graph.map(from, other.image(FORMAT), { access: "read" });
      using result = graph.map(to, other.image(FORMAT));
      const [{ transfer, evidence }] = result.route.steps;
      assertEquals(transfer, "alias");
      assertEquals(
        evidence,
        `proven by aliasing both ways, optimal images with layers of ${FORMAT} by their opaque-fd`,
      );
      assertEquals([source.layers, source.layout.shape], [layers, shape]);
      assertSame(pixelsOf(source), bytes, `${shape}, at the other`);
      kernel.run({ groups: [Math.ceil(width / 8), Math.ceil(height / 8), layers] }, [source, result]);
    }
    assertSame(pixelsOf(to), reversed(bytes, layers), `${shape}, and back`);
  }
});

test("another library's image has the layers that its shape says", (vulkan) => {
  using own = vulkan.image(FORMAT).allocate({ shape: [3, 7, 13, 4] });
  const bytes = pattern(3 * 7 * 13 * 4, 2);
  vulkan.queue.write(own, bytes);
  const { queues: [queue], ...handles } = vulkan.openDevice.handles;
  using other = VulkanContext.attach({ ...handles, queue });
  vulkan.queue.finish();
  using attached = other.image(FORMAT).attach(own.handle.image, { shape: [3, 7, 13, 4] });
  assertSame(pixelsOf(attached), bytes, "attached");
  const again = () => other.image(FORMAT).attach(own.handle.image, { shape: [7, 13, 4] });
  assertThrows(again, ArgumentError, "3 layers of 13 × 7 pixels");
});

test("layers that are too many, in rows or for dma-bufs are refused", (vulkan) => {
  const target = vulkan.image(FORMAT);
  const { maxLayers } = target.abilities.of("optimal", 1)!;
  const shape = [2, 7, 13, 4];
  const tooMany = () => target.allocate({ shape: [maxLayers + 1, 1, 1, 4] });
  assertThrows(tooMany, LayoutError, `${maxLayers + 1} layers are more than the ${maxLayers} of`);
  assertThrows(() => target.allocate({ shape: [1, 2, 7, 13, 4] }), LayoutError, "[layers, height, width, 4]");
  for (const made of [{ tiling: "linear" }, { tiling: { modifiers: [0n] } }, { exportAs: "dma-buf" }] as const) {
    const { hint } = assertThrows(
      () => target.allocate({ shape, ...made }),
      ArgumentError,
      "rows, modifiers and dma-bufs",
    );
    assertStringIncludes(hint!, "an image of each layer");
  }
  using image = target.allocate({ shape });
  assertThrows(() => image.slice({ shape: [1, 7, 13, 4], dtype: "u8" }), LayoutError, "no parts");
});

test("layers go by no dma-buf, out or in: the refusal says what does", (vulkan) => {
  using graph = new MapperGraph([host, vulkan, dmabuf]);
  using grey = vulkan.image("R8_UINT").allocate({ shape: [5, 7, 13] });
  using colour = vulkan.image(FORMAT).allocate({ shape: [5, 7, 13, 4] });
  const reasonOf = (image: VulkanImage) => {
    const { refused } = assertThrows(() => graph.map(image, dmabuf), NoRouteError);
    return refused.map(({ reason, remedy }) => `${reason} ${remedy}`).join();
  };
  const lacking = vulkan.absent.get("VK_EXT_external_memory_dma_buf"); // then no image does, whatever its layers
  assertStringIncludes(reasonOf(grey), lacking ?? "Make an image of each layer");
  assertStringIncludes(reasonOf(colour), "Map each picture by itself");
  const { exports, imports } = vulkan.image(FORMAT).ports.images!;
  const out = exports.find(({ kind }) => kind === "dma-buf")!;
  assertStringIncludes(out.refuse!(colour.described)!.remedy!, "Make an image of each layer");
  const offer = imports.find(({ kind }) => kind === "dma-buf")!;
  const { reason } = offer.refuse!(colour.described)!;
  assertEquals(reason, "expected [height, width, 4] for pixels of rgba uint8 in a dma-buf, got [5, 7, 13, 4].");
  using picture = vulkan.image(FORMAT).allocate({ shape: [7, 13, 4] });
  assertEquals(offer.refuse!(picture.described), undefined);
});
