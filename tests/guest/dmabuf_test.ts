/** DMA-BUF on real buffers, fences and drivers: in the guest. */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  AccessError,
  type Fence,
  host,
  imageInfo,
  layout,
  LayoutError,
  ledger,
  MapperGraph,
  NoRouteError,
} from "../../mod.ts";
import { OpenCLContext } from "../../src/opencl/mod.ts";
import { OpenCVContext } from "../../src/opencv/mod.ts";
import { exporterOf } from "../../src/core/native/fd.ts";
import { dmabuf, DmaBufContext, type DmaBufTensor } from "../../src/dmabuf/mod.ts";
import { newLine } from "../../src/dmabuf/sync.ts";
import { handOver } from "../../src/dmabuf/tensor.ts";
import { assertAlive } from "../alive.ts";
import { collect } from "../gc.ts";
import { allocateFromHeap, exportSyncFile, Fd, makeMemfd, VgemFence } from "./kernel.ts";
import { guestTest } from "./needs.ts";

const CARD = ["/dev/udmabuf", "/dev/dri/card0"];
const PAGE = { shape: [4096], dtype: "u8" } as const;
const NV12 = imageInfo({ format: "NV12", width: 64, height: 32 });
const X_TILED = 0x0100_0000_0000_0001n;

function test(name: string, fn: () => void | Promise<void>, nodes?: readonly string[]): void {
  guestTest(`dmabuf: ${name}`, async () => {
    const before = ledger.alive;
    await fn();
    await assertAlive(before, "alive after the test");
  }, nodes);
}

/** The tensor's fd, as the tests' own kernel calls want it. */
function fdOf(tensor: DmaBufTensor): Fd {
  return new Fd(tensor.exportFd());
}

test("every open allocator's memory is zeroed, as long as the kernel says, and what its exporter calls it", () => {
  const exporters = dmabuf.allocators().filter((one) => one.open).map(({ node, kind }) => {
    using tensor = dmabuf.allocate({ shape: [5000], dtype: "u8", from: node });
    using graph = new MapperGraph([host, dmabuf]);
    const { byteLength, fd } = tensor.handle;
    using mapped = graph.map(tensor, host);
    assertEquals([mapped.bytes().some((byte) => byte !== 0), byteLength], [false, 8192]);
    return [kind, exporterOf(fd)];
  });
  assertEquals(exporters.slice(0, 2), [["udmabuf", "udmabuf"], ["dma-heap", "system"]]);
});

test("two fds of one buffer are one allocation, and law 3 holds across them", () => {
  using buffer = allocateFromHeap("system", 8192);
  using first = dmabuf.attach(buffer.fd, PAGE);
  using other = fdOf(first);
  using second = dmabuf.attach(other.fd, { ...PAGE, byteOffset: 2048 });
  using apart = dmabuf.attach(other.fd, { ...PAGE, byteOffset: 4096 });
  using graph = new MapperGraph([host, dmabuf]);
  assert(first.grant.allocation === second.grant.allocation);
  using writer = graph.map(first, host);
  assertThrows(() => graph.map(second, host), AccessError);
  using beside = graph.map(apart, host);
  beside.bytes().fill(7);
  writer.bytes().fill(9);
  writer[Symbol.dispose]();
  beside[Symbol.dispose]();
  using reader = graph.map(second, host, { access: "read" });
  assertEquals([reader.bytes()[2047], reader.bytes()[2048]], [9, 7]);
});

test("an fd of host memory's dma-buf is that host memory", () => {
  using memory = host.allocate({ shape: [3, 4096], dtype: "u8", sharable: true });
  using graph = new MapperGraph([host, dmabuf]);
  using second = memory.slice(layout({ shape: [100], dtype: "u8", byteOffset: 4196 }));
  using mapped = graph.map(second, dmabuf);
  assertEquals([mapped.layout.byteOffset, mapped.handle.byteLength, mapped.route.steps[0].transfer], [
    100,
    4096,
    "alias",
  ]);
  using fd = fdOf(mapped);
  using again = dmabuf.attach(fd.fd, { shape: [100], dtype: "u8", byteOffset: 100 });
  assert(again.grant.allocation === memory.grant.allocation);
  assertEquals(again.grant.start, 4196);
  assertThrows(() => graph.map(again, host), AccessError);
  mapped[Symbol.dispose]();
  second[Symbol.dispose]();
  using view = graph.map(again, host);
  view.bytes().fill(5);
  view[Symbol.dispose]();
  assertEquals(memory.view()[4196], 5);
});

test("a memfd that ends within a page is refused with what to do", () => {
  using memfd = makeMemfd(5000);
  using tensor = host.attach(memfd.fd, { shape: [5000], dtype: "u8" });
  using graph = new MapperGraph([host, dmabuf]);
  const error = assertThrows(() => graph.map(tensor, dmabuf), LayoutError);
  assert(error.hint?.includes("4096"));
  using first = host.attach(memfd.fd, PAGE);
  using _mapped = graph.map(first, dmabuf, { access: "read" });
});

test("a frame lies in one buffer, or in several", () => {
  using one = allocateFromHeap("system", 8192);
  using other = allocateFromHeap("system", 4096);
  using graph = new MapperGraph([host, dmabuf]);
  const planes = [{ offset: 1024, stride: 128 }, { fd: 1, offset: 64, stride: 80 }];
  for (const fds of [[one.fd, one.fd], [one.fd, other.fd]]) {
    const places = fds[1] === one.fd ? [planes[0], { ...planes[1], offset: 6000 }] : planes;
    using frame = dmabuf.attach(fds, { info: NV12, planes: places });
    assertEquals(frame.planes.map(({ layout }) => layout.strides[0]), [128, 80]);
    assertEquals(frame.grants.length, fds[1] === one.fd ? 1 : 2);
    using mapped = graph.map(frame, host);
    mapped.planes[1].bytes().fill(3);
  }
  using bytes = other.map(4096);
  assertEquals([bytes.bytes[63], bytes.bytes[64]], [0, 3]);
});

test("a tiled picture is not for the CPU, and its layout is named", () => {
  using buffer = allocateFromHeap("system", 16384);
  using graph = new MapperGraph([host, dmabuf]);
  const info = imageInfo({ format: "RGBA", width: 64, height: 64, modifier: X_TILED });
  using frame = dmabuf.attach(buffer.fd, { info });
  assertEquals(frame.planes[0].modifier, X_TILED);
  for (const source of [frame, frame.planes[0]]) {
    const error = assertThrows(() => graph.map(source as typeof frame, host), NoRouteError);
    assert(error.message.includes("I915_FORMAT_MOD_X_TILED"), error.message);
  }
});

test("an fd for reading is mapped for reading", () => {
  const [READ_ONLY_CLOEXEC, DMA_HEAP_IOCTL_ALLOC] = [0o2000000, 0xc0184800];
  using heap = Fd.open("/dev/dma_heap/system");
  const allocation = Uint32Array.of(4096, 0, 0, READ_ONLY_CLOEXEC, 0, 0);
  heap.ioctl(DMA_HEAP_IOCTL_ALLOC, allocation);
  using buffer = new Fd(allocation[2]);
  using tensor = dmabuf.attach(buffer.fd, PAGE);
  assertEquals(tensor.access, "read");
  assertThrows(() => dmabuf.attach(buffer.fd, PAGE, { access: "read-write" }), AccessError, "reading only");
  using graph = new MapperGraph([host, dmabuf]);
  assertThrows(() => graph.map(tensor, host, { access: "write" }), AccessError);
  using mapped = graph.map(tensor, host);
  assertEquals(mapped.bytes({ access: "read" })[0], 0);
}, ["/dev/dma_heap/system"]);

test("dma-buf → host → OpenCL → UMat, and no byte is copied", async () => {
  using cl = OpenCLContext.open({ platform: "Portable" });
  using cv = OpenCVContext.open();
  using graph = new MapperGraph([host, dmabuf, cl, cv]);
  using picture = dmabuf.allocate({ shape: [64, 64], dtype: "u8" });
  using fd = fdOf(picture);
  using bytes = fd.map(4096);
  bytes.bytes.fill(40);
  using onDevice = graph.map(picture, cl);
  assertEquals(onDevice.route.steps.map(({ edge, transfer }) => [edge, transfer]), [
    ["dmabuf→host", "alias"],
    ["host→opencl", "alias"],
  ]);
  cl.queue.fill(onDevice, 77);
  await onDevice[Symbol.asyncDispose]();
  assertEquals(bytes.bytes[4095], 77);
  using umat = graph.map(picture, cv.umat);
  assertEquals(umat.route.steps.map(({ edge, transfer }) => [edge, transfer]), [
    ["dmabuf→host", "alias"],
    ["host→opencl", "alias"],
    ["opencl→opencv.umat", "alias"],
  ]);
});

test("a reader waits for writers, a writer for all", async () => {
  using tensor = dmabuf.allocate(PAGE);
  using fd = fdOf(tensor);
  for (
    const [held, access, waits] of [["read", "read", false], ["read", "write", true], ["write", "read", true]] as const
  ) {
    using fence = new VgemFence(fd, held);
    const file = tensor.handle.exportSyncFile(access);
    assertEquals(file !== undefined, waits, `${access} behind a fence of a ${held}`);
    fence.signal();
    if (file !== undefined) await dmabuf.fence(new Fd(file).fd).wait();
  }
}, CARD);

test("tensor.finished() waits for another driver's fence, and Deno goes on meanwhile", async () => {
  using tensor = dmabuf.allocate(PAGE);
  using fd = fdOf(tensor);
  using fence = new VgemFence(fd, "write");
  let over = false;
  const finished = tensor.finished().then(() => over = true);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assertEquals(over, false);
  fence.signal();
  await finished;
}, CARD);

test("a sync file is a fence, until its driver says", async () => {
  using tensor = dmabuf.allocate(PAGE);
  using fd = fdOf(tensor);
  using held = new VgemFence(fd, "write");
  using file = exportSyncFile(fd, "write");
  const fence = dmabuf.fence(file.fd);
  assertEquals(fence.reached(), false);
  await assertRejects(() => fence.wait({ signal: AbortSignal.timeout(20) }), DOMException);
  tensor.usedBy(fence);
  held.signal();
  await fence.wait();
  assertEquals(fence.reached(), true);
}, CARD);

test("a fence is given to another buffer: writers wait for a reader's, all for a writer's", async () => {
  for (const access of ["read", "write"] as const) {
    using source = new Buffer();
    using first = new Buffer();
    using second = new Buffer();
    using held = new VgemFence(source.fd, "write");
    using file = exportSyncFile(source.fd, "write");
    const fence = dmabuf.fence(file.fd);
    first.tensor.addFence(fence, access);
    assertEquals([first.fd.is("readable"), first.fd.is("writable")], [access === "read", false]);
    second.tensor.addFence(fence, access);
    assertEquals(second.fd.is("writable"), false);
    held.signal();
    await Promise.all([first.tensor.finished(), second.tensor.finished()]);
    assertEquals([first.fd.is("writable"), second.fd.is("writable"), fence.reached()], [true, true, true]);
  }
}, CARD);

test("several fences become one sync file", async () => {
  using one = new Buffer();
  using other = new Buffer();
  using third = new Buffer();
  using held = new VgemFence(one.fd, "write");
  using later = new VgemFence(other.fd, "write");
  using file = exportSyncFile(one.fd, "write");
  using laterFile = exportSyncFile(other.fd, "write");
  const line = newLine("a line of two fences");
  const fences = [laterFile, file].map(({ fd }) => dmabuf.fence(fd));
  for (const [i, { tensor }] of [one, other].entries()) {
    line.submitRaw(handOver([tensor.rawHandle], "write"), [fences[i]]);
  }
  third.tensor.addFence(line.fence());
  held.signal();
  assertEquals(third.fd.is("writable"), false);
  later.signal();
  assertEquals(third.fd.is("writable"), true);
  for (const { tensor } of [one, other, third]) await tensor.finished();
  for (const fence of [...fences, line.fence()]) assertEquals(fence.reached(), true);
}, CARD);

test("a map to another API waits for the buffer's fences on its line, and gives it its own", async () => {
  using source = new Buffer();
  using other = new Buffer();
  using elsewhere = new DmaBufContext();
  using graph = new MapperGraph([dmabuf, elsewhere]);
  using held = new VgemFence(source.fd, "write");
  const mapped = graph.map(source.tensor, elsewhere);
  assertEquals(mapped.work.length, 1);
  using work = new VgemFence(other.fd, "write");
  using file = exportSyncFile(other.fd, "write");
  mapped.disposeAfter(dmabuf.fence(file.fd));
  held.signal();
  assertEquals(source.fd.is("readable"), false, "the work of the map");
  work.signal();
  await source.tensor.finished();
  assertEquals(source.fd.is("readable"), true);
}, CARD);

test("a forgotten fence leaves no sync file", async () => {
  using buffer = new Buffer();
  using _held = new VgemFence(buffer.fd, "write");
  using file = exportSyncFile(buffer.fd, "write");
  (() => void dmabuf.fence(file.fd))();
  assertEquals(ledger.alive["dmabuf.sync_file"], 1);
  await collect();
  assertEquals(ledger.alive["dmabuf.sync_file"], undefined);
}, CARD);

test("sync files that are not polled again are closed by later ones", () => {
  using buffer = new Buffer();
  const kept: Fence[] = [];
  for (let i = 0; i < 40; i++) {
    using held = new VgemFence(buffer.fd, "write");
    using file = exportSyncFile(buffer.fd, "write");
    kept.push(dmabuf.fence(file.fd));
    held.signal();
  }
  const open = ledger.alive["dmabuf.sync_file"] ?? 0;
  assert(open <= 2, `${open} are open`);
  assertEquals(kept.map((fence) => fence.reached()), kept.map(() => true));
}, CARD);

test("a fence ends with its device", async () => {
  using tensor = dmabuf.allocate(PAGE);
  using fd = fdOf(tensor);
  const held = new VgemFence(fd, "write");
  using file = exportSyncFile(fd, "write");
  const fence = dmabuf.fence(file.fd);
  held[Symbol.dispose]();
  await fence.wait();
}, CARD);

/** A buffer, and an fd of it for the tests' own calls. */
class Buffer implements Disposable {
  readonly tensor = dmabuf.allocate(PAGE);
  readonly fd = fdOf(this.tensor);

  [Symbol.dispose](): void {
    this.fd[Symbol.dispose]();
    this.tensor[Symbol.dispose]();
  }
}
