import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, host, imageInfo, MapperGraph, NativeCallError, NoRouteError, region } from "@samepage/interop";
import { VulkanContext, type VulkanTensor } from "@samepage/interop/vulkan";
import type { VulkanExtensions } from "../../ffi/vulkan_extensions/functions.ts";
import { Port } from "../../src/core/device/port.ts";
import { closeFd, duplicateFd, statusOf } from "../../src/core/native/fd.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import { test, unless } from "./help.ts";

const WORDS = { shape: [1024], dtype: "u32" } as const;

function numbersOf(tensor: VulkanTensor, vulkan: VulkanContext): Set<number> {
  const seen = new Uint32Array(tensor.layout.byteLength / 4);
  vulkan.queue.read(tensor, seen);
  return new Set(seen);
}

test("host memory is used in place, wherever its bytes begin", (vulkan) => {
  using graph = new MapperGraph([host, vulkan]);
  const words = new Uint32Array(4096);
  using whole = host.wrap(words);
  {
    using part = whole.slice(region(whole.layout, [3], [64]));
    using mapped = graph.map(part, vulkan);
    assert(mapped.route.steps.every(({ transfer }) => transfer === "alias"), String(mapped.route));
    vulkan.queue.fill(mapped as VulkanTensor, 3);
  }
  assertEquals([...whole.view().subarray(0, 70)], Array.from({ length: 70 }, (_, i) => i >= 3 && i < 67 ? 3 : 0));
});

test("memory that the CPU sees is the host's too, and other memory says why not", (vulkan) => {
  using graph = new MapperGraph([host, vulkan]);
  using tensor = vulkan.allocate({ ...WORDS, memory: "host" });
  vulkan.queue.fill(tensor, 6);
  {
    using mapped = graph.map(tensor, host);
    const view = mapped.view({ dtype: "u32" });
    assertEquals(new Set(view), new Set([6]));
    view.fill(7);
  }
  assertEquals(numbersOf(tensor, vulkan), new Set([7]));
  using own = vulkan.allocate(WORDS);
  const { hostVisible, hostCoherent } = own.handle.info!.type;
  const { open, refused } = graph.explain(own, host);
  assertEquals(open, hostVisible && hostCoherent);
  if (!open) assert(refused[0].reason.includes("does not see"), refused[0].reason);
});

test("memory is made for the kind of fd that is asked for, or refused with the reason", (vulkan) => {
  const { opaqueFd, dmaBuf } = vulkan.openDevice.abilities;
  for (const [exportAs, { exports }] of [["opaque-fd", opaqueFd], ["dma-buf", dmaBuf]] as const) {
    const make = () => vulkan.allocate({ ...WORDS, exportAs });
    if (exports) {
      using tensor = make();
      assert(tensor.handle.exportsAs(exportAs), exportAs);
      const other = exportAs === "dma-buf" ? "opaque-fd" : "dma-buf";
      if (!tensor.handle.exportsAs(other)) assertThrows(() => tensor.handle.exportFd(other), ArgumentError, other);
    } else {
      const { message } = assertThrows(make, ArgumentError, "exportAs");
      assert(/VK_\w+|answers/.test(message), message);
    }
  }
  assertThrows(() => vulkan.allocate({ ...WORDS, exportAs: "memfd" as "dma-buf" }), ArgumentError, '"opaque-fd"');
});

test("a frame's planes lie in one buffer, and come from the host in place", (vulkan) => {
  using graph = new MapperGraph([host, vulkan]);
  const info = imageInfo({ format: "NV12", width: 64, height: 32 });
  using own = vulkan.allocateFrame(info);
  assertEquals(new Set(own.planes.map(({ handle }) => handle)).size, 1);
  using frame = host.allocateFrame(info);
  {
    using mapped = graph.map(frame, vulkan);
    vulkan.queue.fill(mapped.planes[1] as VulkanTensor, 128);
  }
  const [y, uv] = frame.planes.map((plane) => new Set(plane.view({ dtype: "u8" })));
  assertEquals([y, uv], [new Set([0]), new Set([128])]);
});

test("memory that others use by turns costs its maker no commands", (vulkan) => {
  using other = VulkanContext.open({ uuid: vulkan.id.uuid! });
  using graph = new MapperGraph([vulkan, other]);
  using tensor = vulkan.allocate(WORDS);
  const turn = (value: number) => {
    using mapped = graph.map(tensor, other);
    other.queue.fill(mapped as VulkanTensor, value);
  };
  turn(1); // the proof, and the memory's first way out
  const { submitted } = vulkan.line;
  for (let i = 2; i < 7; i++) turn(i);
  assertEquals(vulkan.line.submitted, submitted);
  assertEquals(numbersOf(tensor, vulkan), new Set([6])); // one command, which takes it back as well
  assertEquals(vulkan.line.submitted, submitted + 1);
  turn(8);
  assertEquals(vulkan.line.submitted, submitted + 2, "it was handed over again");
  assertEquals(numbersOf(tensor, vulkan), new Set([8]));
});

const lacksFds = unless(
  ({ ports: { imports } }) => imports.find(({ kind }) => kind === "opaque-fd")!.closed?.() === undefined,
  "a driver that exports opaque fds",
);

test("a tensor's fd is exported once, and duplicated for each who asks", (vulkan) => {
  using other = VulkanContext.open({ uuid: vulkan.id.uuid! });
  using graph = new MapperGraph([vulkan, other]);
  const extensions = vulkan.openDevice.extensions as { -readonly [F in keyof VulkanExtensions]: VulkanExtensions[F] };
  const { vkGetMemoryFdKHR } = extensions;
  let exports = 0;
  extensions.vkGetMemoryFdKHR = (...args) => {
    exports++;
    return vkGetMemoryFdKHR!(...args);
  };
  const before = openFds();
  {
    using tensor = vulkan.allocate(WORDS);
    {
      using _ = graph.map(tensor, other);
    } // and the proof
    const mapped = openFds();
    exports = 0;
    for (let i = 0; i < 20; i++) {
      using first = graph.map(tensor, other, { access: "read" });
      using second = graph.map(tensor, other, { access: "read" });
      assertEquals(first.handle, second.handle, "a block is imported once");
    }
    assertEquals([openFds(), exports], [mapped, 0]);
  }
  assertOpenFds(before);
}, lacksFds);

test("an fd that is not memory of Vulkan's is refused, and closed once", (vulkan) => {
  using strange = host.allocate({ shape: [65_536], dtype: "u8", sharable: true });
  const [before, fd] = [openFds(), strange.exportFd()];
  const known = duplicateFd(fd);
  const port = new Port("opaque-fd", { fd, byteLength: 4096 });
  assertThrows(() => vulkan.ports.import!(port, "read-write"), NativeCallError, "vkAllocateMemory");
  assertOpenFds(before + 1);
  assertEquals(statusOf(known).byteLength, 65_536n);
  closeFd(known);
}, lacksFds);

test("what came from another API goes on from there, not from here", (vulkan) => {
  using other = VulkanContext.open({ uuid: vulkan.id.uuid! });
  using graph = new MapperGraph([host, vulkan, other]);
  using tensor = host.allocate(WORDS);
  using mapped = graph.map(tensor, vulkan);
  const error = assertThrows(() => graph.map(mapped, other), NoRouteError);
  assert(error.message.includes("came from another API"), error.message);
});

test("memory that came back by its pages goes on by the fd of its own buffer", (vulkan) => {
  using other = VulkanContext.open();
  using graph = new MapperGraph([host, vulkan, other]);
  using tensor = vulkan.allocate({ ...WORDS, memory: "host" });
  using part = tensor.slice(region(tensor.layout, [512], [256]));
  {
    using onHost = graph.map(part, host);
    using again = graph.map(onHost, vulkan) as VulkanTensor;
    assert(again.handle !== tensor.rawHandle, "expected a buffer over the pages");
    vulkan.queue.fill(again, 5);
    using mapped = graph.map(again, other) as VulkanTensor;
    assertEquals(numbersOf(mapped, other), new Set([5]));
    other.queue.fill(mapped, 6);
  }
  part[Symbol.dispose]();
  const seen = new Uint32Array(1024);
  vulkan.queue.read(tensor, seen);
  assertEquals([...seen], Array.from({ length: 1024 }, (_, i) => i >= 512 && i < 768 ? 6 : 0));
});

test("memory whose view was moved away is kept, and its device with it, whatever ends first", () => {
  for (const first of ["map", "context"]) {
    const vulkan = VulkanContext.open();
    const graph = new MapperGraph([host, vulkan]);
    const tensor = vulkan.allocate({ ...WORDS, memory: "host" });
    const mapped = graph.map(tensor, host);
    const moved = mapped.view({ dtype: "u32" }).fill(5).buffer.transfer();
    for (const one of first === "map" ? [mapped, tensor, graph, vulkan] : [vulkan, graph]) one[Symbol.dispose]();
    assertEquals(new Set(new Uint32Array(moved).fill(6)), new Set([6]), first);
  }
});
