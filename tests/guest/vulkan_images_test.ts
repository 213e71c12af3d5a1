/** Images of Vulkan's in dma-bufs, both ways, with a lavapipe that has them: in the guest. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { host, imageInfo, LayoutError, ledger, MapperGraph, NoRouteError } from "../../mod.ts";
import { dmabuf, type DmaBufTensor } from "../../src/dmabuf/mod.ts";
import { VulkanContext, type VulkanImage } from "../../src/vulkan/mod.ts";
import { assertAlive } from "../alive.ts";
import { openFiles } from "../gc.ts";
import { shader } from "../vulkan/help.ts";
import { Fd } from "./kernel.ts";
import { guestTest } from "./needs.ts";

const DRIVER = Deno.env.get("VK_DRIVER_FILES") ?? "VK_DRIVER_FILES";
const RGBA = "R8G8B8A8_UNORM";
const [WIDTH, HEIGHT] = [64, 33];
const SIZE = { shape: [HEIGHT, WIDTH, 4] } as const;
const ROW = WIDTH * 4;

interface Open {
  readonly vulkan: VulkanContext;
  /** Another `VkDevice`. */
  readonly other: VulkanContext;
  readonly graph: MapperGraph;
}

/** Afterwards nothing is alive that was not before. */
function test(name: string, fn: (open: Open) => void): void {
  guestTest(`vulkan: images: ${name}`, async () => {
    VulkanContext.open()[Symbol.dispose](); // what a driver opens once, and keeps
    const [alive, fds] = [ledger.alive, openFds()];
    {
      using vulkan = VulkanContext.open();
      using other = VulkanContext.open();
      using graph = new MapperGraph([host, dmabuf, vulkan, other]);
      fn({ vulkan, other, graph });
    }
    await assertAlive(alive, "alive after the test");
    assertEquals(openFds(), fds);
  }, ["/dev/udmabuf", DRIVER]);
}

/** The open fds that show memory or fences. */
const openFds = () => openFiles(/dmabuf|memfd|sync_file|dri/);

/** Bytes that differ from their neighbours. */
function pattern(length: number, seed: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, i) => (i * 31 + seed) % 251);
}

function pixelsOf(image: VulkanImage): Uint8Array {
  const seen = new Uint8Array(image.layout.byteLength);
  (image.target.context as VulkanContext).queue.read(image, seen);
  return seen;
}

/** The CPU's own look at rows in a dma-buf, past all of samepage. */
class Look implements Disposable {
  readonly #fd: Fd;
  readonly #mapping;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #tensor: DmaBufTensor;

  constructor(tensor: DmaBufTensor) {
    this.#tensor = tensor;
    this.#fd = new Fd(tensor.exportFd());
    this.#mapping = this.#fd.map(tensor.handle.byteLength);
    this.#bytes = this.#mapping.bytes as Uint8Array<ArrayBuffer>;
  }

  /** A row's bytes, without what lies behind it. */
  row(y: number): Uint8Array<ArrayBuffer> {
    const { byteOffset, strides: [stride], shape: [, width, channels = 1] } = this.#tensor.layout;
    return this.#bytes.subarray(byteOffset + y * stride, byteOffset + y * stride + width * channels);
  }

  get rows(): Uint8Array {
    const { shape: [height] } = this.#tensor.layout;
    return new Uint8Array(Array.from({ length: height }, (_, y) => [...this.row(y)]).flat());
  }

  [Symbol.dispose](): void {
    this.#mapping[Symbol.dispose]();
    this.#fd[Symbol.dispose]();
  }
}

test("the driver knows modifiers, and both ways", ({ vulkan }) => {
  const { abilities, modifiers } = vulkan.image(RGBA);
  assert(modifiers.includes(0n), String(modifiers));
  for (const order of ["linear", 0n] as const) {
    const { exports, imports } = abilities.of(order, vulkan.openDevice.abilities.dmaBuf.handleType)!;
    assertEquals([exports, imports], [true, true], String(order));
  }
});

test("rows in a dma-buf are an image, in place, however far apart they lie", ({ vulkan, graph }) => {
  using program = vulkan.program(shader("invert"));
  using kernel = program.kernel();
  using count = vulkan.allocate({ shape: [1], dtype: "u32" });
  for (const stride of [ROW, ROW + 64, 1024]) {
    using tensor = dmabuf.allocate({ ...SIZE, dtype: "u8", strides: [stride, 4, 1] });
    using look = new Look(tensor);
    for (let y = 0; y < HEIGHT; y++) look.row(y).set(pattern(ROW, y));
    {
      using mapped = graph.map(tensor, vulkan.image(RGBA));
      const [{ edge, transfer, evidence }] = mapped.route.steps;
      assertEquals([edge, transfer, evidence], ["dmabuf→vulkan.image", "alias", "the same memory, by its dma-buf"]);
      assertEquals([mapped.width, mapped.height, mapped.modifier], [WIDTH, HEIGHT, 0n]);
      assertEquals(pixelsOf(mapped), look.rows);
      kernel.run({ groups: [8, 5] }, [mapped, count]);
      vulkan.queue.finish();
      assertEquals(look.row(7), pattern(ROW, 7).map((byte) => 255 - byte), "and the map has not ended");
      look.row(7).fill(9);
      assertEquals(new Set(pixelsOf(mapped).subarray(7 * ROW, 8 * ROW)), new Set([9]));
    }
  }
});

test("each plane of a picture in a dma-buf is an image", ({ vulkan, graph }) => {
  const info = imageInfo({ format: "NV12", width: WIDTH, height: 32 });
  using frame = dmabuf.allocateFrame(info);
  const [y, uv] = frame.planes as readonly DmaBufTensor[];
  using luma = new Look(y);
  using chroma = new Look(uv);
  using onY = graph.map(y, vulkan.image("R8_UNORM"));
  using onUv = graph.map(uv, vulkan.image("R8G8_UNORM"));
  vulkan.queue.write(onY, pattern(WIDTH * 32, 1));
  vulkan.queue.write(onUv, pattern(WIDTH * 16, 2));
  assertEquals([luma.rows, chroma.rows], [pattern(WIDTH * 32, 1), pattern(WIDTH * 16, 2)]);
  onY[Symbol.dispose]();
  onUv[Symbol.dispose]();
  const { refused } = assertThrows(() => graph.map(frame, vulkan.image("R8_UNORM")), NoRouteError);
  assertStringIncludes(refused.map(({ remedy }) => remedy).join(), "frame.planes[0]");
});

test("an image is a dma-buf, in place: its rows are where the driver says", ({ vulkan, graph }) => {
  for (const tiling of ["linear", { modifiers: [0n] }] as const) {
    using image = vulkan.image(RGBA).allocate({ ...SIZE, tiling });
    assertEquals(image.modifier, 0n);
    vulkan.queue.write(image, pattern(HEIGHT * ROW, 3));
    {
      using mapped = graph.map(image, dmabuf);
      const [{ edge, transfer, evidence }] = mapped.route.steps;
      assertEquals([edge, transfer, evidence], ["vulkan.image→dmabuf", "alias", "the same memory, by its dma-buf"]);
      assertEquals(mapped.layout.strides[0], image.rawHandle.rows!.stride);
      using look = new Look(mapped);
      assertEquals(look.rows, pattern(HEIGHT * ROW, 3));
      look.row(5).fill(77);
    }
    assertEquals(new Set(pixelsOf(image).subarray(5 * ROW, 6 * ROW)), new Set([77]));
    using onHost = graph.map(image, host, { access: "read" });
    assertEquals(onHost.route.steps.map(({ edge }) => edge), ["vulkan.image→dmabuf", "dmabuf→host"]);
    assertEquals(onHost.view({ dtype: "u8" })[0], 3);
  }
});

test("an image goes to another device by its dma-buf, and both see the same pixels", ({ vulkan, other, graph }) => {
  for (const tiling of ["linear", { modifiers: [0n] }] as const) {
    using image = vulkan.image(RGBA).allocate({ ...SIZE, tiling });
    vulkan.queue.write(image, pattern(HEIGHT * ROW, 4));
    {
      using mapped = graph.map(image, other.image(RGBA));
      assertEquals(mapped.route.steps.map(({ transfer }) => transfer), ["alias"]);
      assertEquals(pixelsOf(mapped), pattern(HEIGHT * ROW, 4));
      other.queue.write(mapped, pattern(HEIGHT * ROW, 5));
    }
    assertEquals(pixelsOf(image), pattern(HEIGHT * ROW, 5));
  }
});

test("a dma-buf that the CPU and two devices use by turns", ({ vulkan, other, graph }) => {
  using tensor = dmabuf.allocate({ ...SIZE, dtype: "u8" });
  using look = new Look(tensor);
  for (let turn = 0; turn < 5; turn++) {
    look.row(0).fill(turn);
    for (const [i, context] of [vulkan, other].entries()) {
      using mapped = graph.map(tensor, context.image(RGBA));
      assertEquals(new Set(pixelsOf(mapped).subarray(0, ROW)), new Set([i === 0 ? turn : 100 + turn]));
      context.queue.write(mapped, new Uint8Array(HEIGHT * ROW).fill(100 * (i + 1) % 156 + turn));
    }
    assertEquals(new Set(look.rows), new Set([200 % 156 + turn]));
  }
});

test("a device without modifiers takes the rows that it would lay out itself, and no others", ({ vulkan }) => {
  const { queues: [queue], extensions, ...handles } = vulkan.openDevice.handles;
  const less = extensions.filter((name) => name !== "VK_EXT_image_drm_format_modifier");
  using plain = VulkanContext.attach({ ...handles, queue, extensions: less });
  using all = new MapperGraph([dmabuf, plain]);
  using own = plain.image(RGBA).allocate({ ...SIZE, tiling: "linear" });
  const { stride } = own.handle.rows!;
  using fits = dmabuf.allocate({ shape: [HEIGHT + 1, WIDTH, 4], dtype: "u8", strides: [stride, 4, 1] });
  using rows = fits.slice({ ...SIZE, dtype: "u8", strides: [stride, 4, 1] });
  {
    using mapped = all.map(rows, plain.image(RGBA));
    plain.queue.write(mapped, pattern(HEIGHT * ROW, 6));
  }
  using look = new Look(rows as DmaBufTensor);
  assertEquals(look.rows, pattern(HEIGHT * ROW, 6));
  using wide = dmabuf.allocate({ ...SIZE, dtype: "u8", strides: [stride + 64, 4, 1] });
  assertThrows(() => all.map(wide, plain.image(RGBA)), LayoutError, "without VK_EXT_image_drm_format_modifier");
});

test("what a dma-buf cannot hold is refused before the driver sees it", ({ vulkan, graph }) => {
  using tensor = dmabuf.allocate({ ...SIZE, dtype: "u8" });
  const { refused } = assertThrows(() => graph.map(tensor, vulkan.image("R8_UINT")), NoRouteError);
  assertStringIncludes(refused.map(({ reason }) => reason).join(), "expected [height, width]");
  using mine = vulkan.image(RGBA).allocate(SIZE);
  const closed = assertThrows(() => graph.map(mine, dmabuf), NoRouteError).refused;
  assertStringIncludes(closed.map(({ remedy }) => remedy).join(), 'tiling: "linear"');
});
