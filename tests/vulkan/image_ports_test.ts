import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { host, LayoutError, MapperGraph, NativeCallError, NoRouteError } from "@samepage/interop";
import { VulkanContext, type VulkanImage } from "@samepage/interop/vulkan";
import { ImagePort, Port } from "../../src/core/device/port.ts";
import { closeFd, duplicateFd, statusOf } from "../../src/core/native/fd.ts";
import type { ImageAbility } from "../../src/vulkan/images/abilities.ts";
import { choose } from "../../src/vulkan/images/choice.ts";
import { ImageObject } from "../../src/vulkan/images/image_object.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import { warningsOf } from "../warnings.ts";
import { shader, test, unless } from "./help.ts";

const RGBA = "R8G8B8A8_UNORM";
const SIZE = { shape: [33, 70, 4] } as const;
const BYTES = 33 * 70 * 4;

function pattern(seed: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: BYTES }, (_, i) => (i * 31 + seed) % 251);
}

function pixelsOf(image: VulkanImage): Uint8Array {
  const seen = new Uint8Array(image.layout.byteLength);
  (image.target.context as VulkanContext).queue.read(image, seen);
  return seen;
}

/** Two `VkDevice`s of one device, that share images by opaque fds. */
function pair(vulkan: VulkanContext) {
  using made = new DisposableStack();
  const other = made.use(VulkanContext.open({ uuid: vulkan.id.uuid! }));
  const graph = made.use(new MapperGraph([host, vulkan, other]));
  const kept = made.move();
  return { other, graph, [Symbol.dispose]: () => kept.dispose() };
}

test("an image is another Vulkan's, in place: each sees what the other writes, and shaders use it", (vulkan) => {
  using both = pair(vulkan);
  const { other, graph } = both;
  using program = other.program(shader("invert"));
  using kernel = program.kernel();
  using count = other.allocate({ shape: [1], dtype: "u32" });
  for (const tiling of ["optimal", "linear"] as const) {
    using image = vulkan.image(RGBA).allocate({ ...SIZE, tiling, exportAs: "opaque-fd" });
    vulkan.queue.write(image, pattern(1));
    for (let i = 0; i < 3; i++) {
      using mapped = graph.map(image, other.image(RGBA));
      assertEquals(mapped.route.steps.map(({ edge, transfer }) => [edge, transfer]), [
        ["vulkan.image→vulkan.image", "alias"],
      ]);
      assertEquals(pixelsOf(mapped), i % 2 === 0 ? pattern(1) : pattern(1).map((byte) => 255 - byte));
      kernel.run({ groups: [9, 5] }, [mapped, count]);
    }
    assertEquals(pixelsOf(image), pattern(1).map((byte) => 255 - byte));
    using reader = graph.map(image, other.image(RGBA), { access: "read" });
    assertEquals(pixelsOf(image), pixelsOf(reader), "both may read");
    assertThrows(() => kernel.run({ groups: [9, 5] }, [reader, count]), Error, "may be written");
  }
});

test("what shares no memory is found out: the experiment writes and reads on both sides", (vulkan) => {
  using both = pair(vulkan);
  const { other, graph } = both;
  using image = vulkan.image("R8_UINT").allocate({ shape: [33, 70] });
  const { steps: [{ evidence }] } = graph.explain(image, other.image("R8_UINT"));
  assertEquals(evidence, "proven by aliasing both ways, optimal images of R8_UINT by their opaque-fd");
});

test("an image says why it does not cross", (vulkan) => {
  using both = pair(vulkan);
  const { other, graph } = both;
  const target = other.image(RGBA);
  const reason = (image: VulkanImage, to: Parameters<typeof graph.map>[1], options = {}) => {
    const { refused } = assertThrows(() => graph.map(image, to, options), NoRouteError);
    return refused.map(({ reason }) => reason).join("; ");
  };
  using image = vulkan.image(RGBA).allocate(SIZE);
  const said = reason(image, other.image("R8G8B8A8_UINT"));
  assert(said.includes("its pixels are R8G8B8A8_UNORM, and these images have R8G8B8A8_UINT"), said);
  using mapped = graph.map(image, target);
  const third = reason(mapped, vulkan.image(RGBA));
  assert(third.includes("came from another API"), third);
  mapped[Symbol.dispose]();
  using attached = vulkan.image("R8_UINT").attach(0x123456789n, { shape: [2, 2] });
  const foreign = reason(attached, other.image("R8_UINT"));
  assert(foreign.includes("another library's"), foreign);
});

test("an image of a format that the other device imports none of is refused before any proof", async (vulkan) => {
  using both = pair(vulkan);
  const { other, graph } = both;
  const target = other.image("R16_UINT");
  const { abilities } = target;
  const of = abilities.of.bind(abilities);
  abilities.of = (order, handleType) => {
    const ability = of(order, handleType);
    return ability && handleType !== 0 ? { ...ability, imports: false } : ability;
  };
  const warnings = await warningsOf(() => {
    for (const tiling of ["optimal", "linear"] as const) {
      using image = vulkan.image("R16_UINT").allocate({ shape: [33, 70], tiling, exportAs: "opaque-fd" });
      const { message } = assertThrows(() => graph.map(image, target), NoRouteError);
      if (tiling === "optimal") assertStringIncludes(message, "images of R16_UINT, in the driver's own order");
    }
  });
  assertEquals(warnings, []);
});

test("an image that no edge takes to the host says where it can go instead", (vulkan) => {
  using graph = new MapperGraph([host, vulkan]);
  using image = vulkan.image(RGBA).allocate({ shape: [4, 4, 4] });
  const { message, hint } = assertThrows(() => graph.map(image, host), NoRouteError);
  assertStringIncludes(message, "and no route leads from vulkan.image to that.");
  assertEquals(
    hint,
    "Copy the elements to such memory, which is in this graph: queue.read() and queue.write().",
  );
});

test("a port of an image is checked before the driver sees it, and its fd is closed once", (vulkan) => {
  const target = vulkan.image(RGBA);
  using strange = host.allocate({ shape: [65_536], dtype: "u8", sharable: true });
  const known = duplicateFd(strange.exportFd());
  const before = openFds();
  const port = (fields: Partial<ConstructorParameters<typeof ImagePort>[1]>, byteLength = 65_536) =>
    new ImagePort("opaque-fd", {
      objects: [new Port("opaque-fd", { fd: duplicateFd(known), byteLength })],
      planes: [{ object: 0, offset: 0, stride: 0 }],
      ...{ width: 70, height: 33 },
      ...fields,
    });
  const taken = (given: ImagePort) => {
    using one = given;
    target.ports.images!.import!(one, "read-write", strange.described);
  };
  assertThrows(() => taken(port({}, 1000)), LayoutError, "and the memory has 1000");
  assertThrows(() => taken(port({ modifier: 1n << 56n })), LayoutError, "cross by dma-bufs");
  assertThrows(() => taken(port({})), NativeCallError, "vkAllocateMemory");
  assertEquals([openFds(), statusOf(known).byteLength], [before, 65_536n]);
  closeFd(known);
}, unless((vulkan) => vulkan.image(RGBA).abilities.of("optimal", 1)?.imports === true, "a driver that imports images"));

test("rows that lie otherwise than the driver's are refused, where they begin or how far apart they are", (vulkan) => {
  const target = vulkan.image(RGBA);
  using image = target.allocate({ ...SIZE, tiling: "linear", exportAs: "opaque-fd" });
  const { offset, stride } = image.handle.rows!;
  const before = openFds();
  for (const wrong of [{ offset, stride: stride + 64 }, { offset: offset + 64, stride }]) {
    using given = target.ports.images!.export!(image, "opaque-fd of rows", "read-write").port;
    using port = new ImagePort(given.kind, {
      ...{ width: 70, height: 33, modifier: 0n },
      objects: given.objects,
      planes: [{ object: 0, ...wrong }],
    });
    const what = `its rows lie ${wrong.stride} bytes apart from byte ${wrong.offset} on`;
    assertThrows(() => target.ports.images!.import!(port, "read-write", image.described), LayoutError, what);
  }
  assertEquals(openFds() <= before + 1, true); // the image's own, which is exported once
});

test("memory is one image's alone where it was said to be", (vulkan) => {
  const target = vulkan.image(RGBA);
  const { handleTypes, ability, tiling } = choose(target, ["optimal"], undefined);
  const spec = { width: 8, height: 4, format: target.format, usage: ability.usage };
  const origin = { from: "new", place: "device", handleTypes } as const;
  const object = new ImageObject(vulkan.openDevice, spec, { origin, tiling, dedicated: true });
  assertEquals(object.info!.dedicated, true);
  object.free();
});

test("of several orders, an image can what all of them can", (vulkan) => {
  const target = vulkan.image(RGBA);
  const known = target.abilities.of("optimal", 0)!;
  const answers = new Map<unknown, ImageAbility>([
    [1n, { ...known, usage: 3, maxWidth: 9, maxHeight: 5, dedicated: false, exports: true }],
    [2n, { ...known, usage: 6, maxWidth: 7, maxHeight: 8, dedicated: true, exports: true }],
  ]);
  const asked = {
    format: target.format,
    modifiers: [1n, 2n],
    abilities: { of: (order: unknown) => answers.get(order) },
    base: { name: "a device", openDevice: { lacks: () => undefined } },
  } as unknown as typeof target;
  const { tiling, ability: { usage, maxWidth, maxHeight, dedicated } } = choose(asked, [1n, 2n], "dma-buf");
  assertEquals(tiling, { order: "modifier", of: [1n, 2n] });
  assertEquals([usage, maxWidth, maxHeight, dedicated], [2, 7, 5, true]);
});

test("an image's fd is exported once, and nothing stays open", (vulkan) => {
  using both = pair(vulkan);
  const { other, graph } = both;
  {
    using image = vulkan.image(RGBA).allocate(SIZE);
    using _ = graph.map(image, other.image(RGBA)); // the proof
  }
  const before = openFds();
  {
    using image = vulkan.image(RGBA).allocate(SIZE);
    for (let i = 0; i < 10; i++) {
      using _first = graph.map(image, other.image(RGBA), { access: "read" });
      using _second = graph.map(image, other.image(RGBA), { access: "read" });
    }
  }
  assertOpenFds(before);
});

test("a buffer that came from another Vulkan goes on from there, not from here", (vulkan) => {
  using both = pair(vulkan);
  const { other, graph } = both;
  using third = VulkanContext.open({ uuid: vulkan.id.uuid! });
  using all = new MapperGraph([vulkan, other, third]);
  using tensor = vulkan.allocate({ shape: [64], dtype: "u32" });
  using mapped = graph.map(tensor, other);
  const { refused } = assertThrows(() => all.map(mapped, third), NoRouteError);
  assert(refused.some(({ reason }) => reason.includes("came from another API")), JSON.stringify(refused));
});
