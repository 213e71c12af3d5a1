/** Dma-bufs and the CPU: what a map waits for, what a route maps, which memfds become one. In the guest. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, host, MapperGraph } from "../../mod.ts";
import { sealAgainstWriters } from "../../src/core/native/memfd.ts";
import { dmabuf, DmaBufContext, type DmaBufTensor } from "../../src/dmabuf/mod.ts";
import { exportSyncFile, Fd, makeMemfd, VgemFence } from "./kernel.ts";
import { guestTest } from "./needs.ts";

const CARD = ["/dev/udmabuf", "/dev/dri/card0"];
const PAGE = { shape: [4096], dtype: "u8" } as const;

function test(name: string, fn: () => void | Promise<void>, nodes?: readonly string[]): void {
  guestTest(`dmabuf: ${name}`, fn, nodes);
}

/** A buffer, and an fd of it for the tests' own calls. */
class Buffer implements Disposable {
  readonly tensor: DmaBufTensor = dmabuf.allocate(PAGE);
  readonly fd = new Fd(this.tensor.exportFd());

  [Symbol.dispose](): void {
    this.fd[Symbol.dispose]();
    this.tensor[Symbol.dispose]();
  }
}

/** How many mappings this process has of dma-bufs. */
function mappings(): number {
  return Deno.readTextFileSync("/proc/self/maps").split("\n").filter((line) => line.includes("dmabuf")).length;
}

test("the host waits for another driver's fence as for any work, and the route says so", () => {
  using graph = new MapperGraph([host, dmabuf]);
  using buffer = new Buffer();
  const waits = (access: "read" | "write") => graph.explain(buffer.tensor, host, { access }).steps[0].hostWait;
  assertEquals([waits("read"), waits("write")], [false, false]);
  {
    using _reader = new VgemFence(buffer.fd, "read");
    assertEquals([waits("read"), waits("write")], [false, true]);
    using seen = graph.map(buffer.tensor, host, { access: "read" });
    assertEquals(seen.route.steps[0].hostWait, false);
  }
  using _writer = new VgemFence(buffer.fd, "write");
  assertEquals([waits("read"), waits("write")], [true, true]);
}, CARD);

test("a map for reading gives the buffer its fence: writers wait, readers do not", async () => {
  using source = new Buffer();
  using other = new Buffer();
  using elsewhere = new DmaBufContext();
  using graph = new MapperGraph([dmabuf, elsewhere]);
  const mapped = graph.map(source.tensor, elsewhere, { access: "read" });
  using work = new VgemFence(other.fd, "write");
  using file = exportSyncFile(other.fd, "write");
  mapped.disposeAfter(dmabuf.fence(file.fd));
  assertEquals([source.fd.is("readable"), source.fd.is("writable")], [true, false]);
  work.signal();
  await source.tensor.finished();
  assertEquals(source.fd.is("writable"), true);
}, CARD);

test("a route maps the buffer for the CPU where it leads there, once, and not elsewhere", () => {
  using elsewhere = new DmaBufContext();
  using devices = new MapperGraph([dmabuf, elsewhere]);
  using graph = new MapperGraph([host, dmabuf]);
  using tensor = dmabuf.allocate(PAGE);
  const before = mappings();
  assertEquals(devices.explain(tensor, elsewhere).open, true);
  devices.map(tensor, elsewhere)[Symbol.dispose]();
  assertEquals(mappings() - before, 0);
  for (let i = 0; i < 2; i++) {
    assertEquals(graph.explain(tensor, host).open, true);
    graph.map(tensor, host)[Symbol.dispose]();
    assertEquals(mappings() - before, 1);
  }
});

test("a memfd that is sealed against writing stays host memory, and the error says so", () => {
  using memfd = makeMemfd(4096);
  sealAgainstWriters(memfd.fd);
  using tensor = host.attach(memfd.fd, PAGE);
  using graph = new MapperGraph([host, dmabuf]);
  const error = assertThrows(() => graph.map(tensor, dmabuf, { access: "read" }), AccessError, "only be read");
  assertEquals(error.argument, "source");
  assert(error.hint?.includes("host memory"), error.message);
});
