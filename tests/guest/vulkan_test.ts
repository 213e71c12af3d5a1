/** Vulkan's dma-bufs and sync files, with a lavapipe that has them: in the guest. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ArgumentError, type Fence, host, layout, ledger, MapperGraph, NoRouteError } from "../../mod.ts";
import { dmabuf, type DmaBufTensor } from "../../src/dmabuf/mod.ts";
import { VulkanContext, type VulkanTensor } from "../../src/vulkan/mod.ts";
import type { VulkanExtensions } from "../../ffi/vulkan_extensions/functions.ts";
import { assertAlive } from "../alive.ts";
import { openFiles } from "../gc.ts";
import { shader } from "../vulkan/help.ts";
import { exportSyncFile, Fd, makeMemfd, VgemFence } from "./kernel.ts";
import { guestTest } from "./needs.ts";

/** The guest's Vulkan; this machine's need not have dma-bufs. */
const DRIVER = Deno.env.get("VK_DRIVER_FILES") ?? "VK_DRIVER_FILES";
const NODES = ["/dev/udmabuf", DRIVER];
const CARD = [...NODES, "/dev/dri/card0"];
const WORDS = { shape: [1024], dtype: "u32" } as const;
const BYTES = 4096;
/** Turns of the shader that keeps a device busy; loops are cut short on lavapipe. */
const TURNS = 60_000;

interface Open {
  readonly vulkan: VulkanContext;
  /** Another `VkDevice`. */
  readonly other: VulkanContext;
  readonly graph: MapperGraph;
}

/** Afterwards nothing is alive that was not before, and no fd of memory or of a fence is open. */
function test(name: string, fn: (open: Open) => void | Promise<void>, nodes: readonly string[] = NODES): void {
  guestTest(`vulkan: ${name}`, async () => {
    VulkanContext.open()[Symbol.dispose](); // what a driver opens once, and keeps
    const [alive, fds] = [ledger.alive, sharedFds()];
    {
      using vulkan = VulkanContext.open();
      using other = VulkanContext.open();
      using graph = new MapperGraph([host, dmabuf, vulkan, other]);
      await fn({ vulkan, other, graph });
    }
    await assertAlive(alive, "alive after the test");
    assertEquals(sharedFds(), fds);
  }, nodes);
}

/** The open fds that show memory or fences. */
const sharedFds = () => openFiles(/dmabuf|memfd|sync_file|dri/);

function wordsOf(tensor: VulkanTensor): Set<number> {
  const seen = new Uint32Array(tensor.layout.byteLength / 4);
  (tensor.target as VulkanContext).queue.read(tensor, seen);
  return new Set(seen);
}

/** The CPU's own look at a dma-buf, past all of samepage. */
class Look implements Disposable {
  readonly fd: Fd;
  readonly words: Uint32Array;
  readonly #mapping;

  constructor(tensor: DmaBufTensor) {
    this.fd = new Fd(tensor.exportFd());
    this.#mapping = this.fd.map(BYTES);
    this.words = new Uint32Array(this.#mapping.bytes.buffer as ArrayBuffer);
  }

  [Symbol.dispose](): void {
    this.#mapping[Symbol.dispose]();
    this.fd[Symbol.dispose]();
  }
}

test("the driver has dma-bufs and sync files, both ways", ({ vulkan }) => {
  const { dmaBuf, syncFd } = vulkan.openDevice.abilities;
  assertEquals([dmaBuf.exports, dmaBuf.imports, syncFd], [true, true, { exports: true, imports: true }]);
});

test("a dma-buf is Vulkan's buffer, in place: each sees at once what the other writes", ({ vulkan, graph }) => {
  using tensor = dmabuf.allocate(WORDS);
  using look = new Look(tensor);
  using program = vulkan.program(shader("spin"));
  using kernel = program.kernel();
  {
    using mapped = graph.map(tensor, vulkan);
    const [{ edge, transfer, evidence }] = mapped.route.steps;
    assertEquals([edge, transfer, evidence], ["dmabuf→vulkan", "alias", "the same memory, by its dma-buf"]);
    vulkan.queue.fill(mapped, 5);
    vulkan.queue.finish();
    assertEquals(new Set(look.words), new Set([5])); // and the map has not ended
    look.words[0] = 3;
    kernel.run({ groups: [1] }, [mapped, 1]);
    vulkan.queue.finish();
    assertEquals([...look.words.subarray(0, 2)], [3 * 3 + 1013904223, 5]);
    look.words.fill(7);
    assertEquals(wordsOf(mapped), new Set([7]));
  }
  using back = graph.map(tensor, host, { access: "read" });
  assertEquals(new Set(back.view({ dtype: "u32" })), new Set([7]));
});

test("Vulkan's memory is a dma-buf, in place, if it is made to go out as one", ({ vulkan, graph }) => {
  for (const memory of ["device", "host"] as const) {
    using tensor = vulkan.allocate({ ...WORDS, memory, exportAs: "dma-buf" });
    vulkan.queue.fill(tensor, 4);
    {
      using mapped = graph.map(tensor, dmabuf);
      const [{ edge, transfer, evidence }] = mapped.route.steps;
      assertEquals([edge, transfer, evidence], ["vulkan→dmabuf", "alias", "the same memory, by its dma-buf"]);
      using look = new Look(mapped);
      assertEquals(new Set(look.words), new Set([4]));
      look.words.fill(6);
    }
    assertEquals(wordsOf(tensor), new Set([6]));
  }
});

test("memory that was made for another kind of export is refused with the way to make it, or goes out both ways", (open) => {
  const { vulkan, graph } = open;
  const { opaqueFd, dmaBuf } = vulkan.openDevice.abilities;
  using tensor = vulkan.allocate(WORDS);
  if ((opaqueFd.compatible & dmaBuf.handleType) !== 0) {
    using mapped = graph.map(tensor, dmabuf);
    return assertEquals(mapped.route.steps.map(({ transfer }) => transfer), ["alias"]);
  }
  const { refused } = assertThrows(() => graph.map(tensor, dmabuf), NoRouteError);
  const remedy = refused.find(({ edge }) => edge === "vulkan→dmabuf")!.remedy!;
  assertStringIncludes(remedy, '{ exportAs: "dma-buf" }');
});

test("a dma-buf of Vulkan's goes to another device, which sees the same bytes", ({ vulkan, other, graph }) => {
  using tensor = vulkan.allocate({ ...WORDS, exportAs: "dma-buf" });
  vulkan.queue.fill(tensor, 8);
  {
    using mapped = graph.map(tensor, other);
    assertEquals(mapped.route.steps.map(({ transfer }) => transfer), ["alias"]);
    assertEquals(wordsOf(mapped), new Set([8]));
    other.queue.fill(mapped, 9);
  }
  assertEquals(wordsOf(tensor), new Set([9]));
});

test("parts of host memory come by their dma-bufs, each with its own bytes", ({ vulkan, graph }) => {
  using memory = host.allocate({ shape: [3 * 1024], dtype: "u32", sharable: true });
  for (const first of [1030, 10, 2060]) {
    using part = memory.slice(layout({ shape: [100], dtype: "u32", byteOffset: 4 * first }));
    using shared = graph.map(part, dmabuf);
    using mapped = graph.map(shared, vulkan);
    vulkan.queue.fill(mapped, first);
  }
  const written = (i: number) => [1030, 10, 2060].find((first) => i >= first && i < first + 100) ?? 0;
  assertEquals(memory.view(), Uint32Array.from({ length: 3 * 1024 }, (_, i) => written(i)));
});

test("a buffer's fence holds up the commands behind a map, on the device", async ({ vulkan, other, graph }) => {
  using tensor = dmabuf.allocate(WORDS);
  using look = new Look(tensor);
  using held = new VgemFence(look.fd, "write");
  const mapped = graph.map(tensor, vulkan);
  assertEquals(mapped.route.steps.map(({ hostWait }) => hostWait), [false]);
  vulkan.queue.fill(mapped, 5);
  const fence = vulkan.queue.fence();
  busy(other);
  assertEquals([fence.reached(), new Set(look.words)], [false, new Set([0])]);
  held.signal();
  await fence.wait();
  assertEquals(new Set(look.words), new Set([5]));
  mapped[Symbol.dispose]();
}, CARD);

test("a sync file holds up the commands behind it, on the device", async ({ vulkan, other }) => {
  using source = dmabuf.allocate(WORDS);
  using fd = new Fd(source.exportFd());
  using tensor = vulkan.allocate({ ...WORDS, memory: "host" });
  vulkan.queue.finish();
  using held = new VgemFence(fd, "write");
  using file = exportSyncFile(fd, "write");
  vulkan.queue.fill(tensor, 5, { after: dmabuf.fence(file.fd) });
  const fence = vulkan.queue.fence();
  busy(other);
  assertEquals(fence.reached(), false);
  held.signal();
  await fence.wait();
  assertEquals(wordsOf(tensor), new Set([5]));
}, CARD);

test("a VkFence is a sync file behind work, and a sync file is a fence", async ({ vulkan, other }) => {
  using work = new Work(vulkan);
  work.run(50);
  using fence = vulkan.queue.createFence();
  const file = fence.exportSyncFile();
  if (file >= 0) {
    using fd = new Fd(file);
    const imported = other.importFence(fd.fd);
    await imported.wait();
    assertEquals([fd.is("readable"), imported.reached()], [true, true]);
  }
  assertEquals(vulkan.queue.fence().reached(), true);
});

test("anything but a sync file is refused: a driver would believe it, and never signal", ({ vulkan }) => {
  using memfd = makeMemfd(4096);
  assertThrows(() => vulkan.importFence(memfd.fd), ArgumentError, "expected a sync file");
});

test("a sync file that is not over is a fence that is not reached", async ({ vulkan, other }) => {
  using source = dmabuf.allocate(WORDS);
  using fd = new Fd(source.exportFd());
  using held = new VgemFence(fd, "write");
  using file = exportSyncFile(fd, "write");
  const fence = vulkan.importFence(file.fd);
  busy(other);
  assertEquals(fence.reached(), false);
  held.signal();
  await fence.wait();
}, CARD);

test("Vulkan's work is a fence of a dma-buf's, until it is over", async ({ vulkan }) => {
  const { fence } = await addWork(vulkan, (file) => file);
  assertEquals(fence.reached(), true);
});

test("a sync file of -1 is work that is over: the dma-buf gets no fence", async ({ vulkan }) => {
  await addWork(vulkan, (file) => { // what VK_KHR_external_semaphore_fd allows: a driver that has seen the signal come
    using fd = new Fd(file);
    while (!fd.is("readable"));
    return -1;
  });
});

/**
 * Gives work to a dma-buf as a fence, and waits for it there; `tells` makes what is reported of the driver's sync file.
 */
async function addWork(vulkan: VulkanContext, tells: (file: number) => number): Promise<{ fence: Fence }> {
  using buffer = dmabuf.allocate(WORDS);
  using work = new Work(vulkan);
  let isAsked = false;
  const extensions = vulkan.openDevice.extensions as { -readonly [F in keyof VulkanExtensions]: VulkanExtensions[F] };
  const { vkGetSemaphoreFdKHR } = extensions;
  extensions.vkGetSemaphoreFdKHR = (device, info, out) => {
    const code = vkGetSemaphoreFdKHR!(device, info, out);
    const file = out as Int32Array;
    file[0] = tells(file[0]);
    isAsked = true;
    return code;
  };
  for (let runs = 1; runs < 10_000; runs *= 2) { // work that is over already becomes no fence
    const fence = work.run(runs);
    buffer.addFence(fence);
    await buffer.finished();
    if (isAsked) return { fence };
  }
  throw new Error("the driver was asked for no sync file");
}

test("two devices wait for each other by sync files, and not by the host", ({ vulkan, other, graph }) => {
  using tensor = vulkan.allocate(WORDS);
  graph.map(tensor, other)[Symbol.dispose](); // the proof
  using work = new Work(vulkan);
  for (let i = 1; i < 20; i++) {
    work.run(1);
    vulkan.queue.fill(tensor, i);
    using mapped = graph.map(tensor, other);
    assertEquals(mapped.route.steps.map(({ hostWait }) => hostWait), [false]);
    assertEquals(wordsOf(mapped), new Set([i]));
    other.queue.fill(mapped, 100 + i);
    mapped[Symbol.dispose]();
    assertEquals(wordsOf(tensor), new Set([100 + i]));
  }
});

/** A shader that takes its time. */
class Work implements Disposable {
  readonly #program;
  readonly #kernel;
  readonly #sum: VulkanTensor;

  constructor(readonly vulkan: VulkanContext) {
    this.#program = vulkan.program(shader("spin"));
    this.#kernel = this.#program.kernel();
    this.#sum = vulkan.allocate({ shape: [1], dtype: "u32" });
  }

  /** Submits so many runs; the fence is behind them. */
  run(runs: number): Fence {
    for (let i = 0; i < runs; i++) this.#kernel.run({ groups: [1] }, [this.#sum, TURNS]);
    return this.vulkan.queue.fence();
  }

  /** Waits for it. */
  [Symbol.dispose](): void {
    this.#sum[Symbol.dispose]();
    this.#kernel[Symbol.dispose]();
    this.#program[Symbol.dispose]();
  }
}

/** Has a device do something from its beginning to its end: what another one could do meanwhile it has done. */
function busy(vulkan: VulkanContext): void {
  using work = new Work(vulkan);
  work.run(1).waitSync();
}
