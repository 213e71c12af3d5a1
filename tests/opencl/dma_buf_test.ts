/** OpenCL's buffers as dma-bufs, and dma-bufs as OpenCL's buffers, by a simulated driver: no software driver has either. */
import { dmaBufOf } from "./external/dma_bufs.ts"; // first: it taps the libraries
import { driver, told } from "./external/simulated.ts";
import { simulated } from "./external/on_simulated.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { host, type HostTensor, MapperGraph, NoRouteError, region } from "@samepage/interop";
import { dmabuf } from "@samepage/interop/dmabuf";
import type { OpenCLTensor } from "@samepage/interop/opencl";
import { closeFd } from "../../src/core/native/fd.ts";
import { filled, kernelsOf, open } from "./help.ts";

const BYTES = { shape: [8192], dtype: "u8" } as const;

/** The bytes, as the host sees them. */
function bytesOf(graph: MapperGraph, tensor: Parameters<MapperGraph["map"]>[0]): Uint8Array {
  using seen = graph.map(tensor, host, { access: "read" }) as HostTensor;
  return seen.bytes().slice();
}

simulated("a buffer of OpenCL's own is a dma-buf, and both see what the other writes", async (cl) => {
  using graph = new MapperGraph([host, dmabuf, cl]);
  using buffer = cl.allocate(BYTES);
  const { program, fill, add } = kernelsOf(cl);
  using _ = program;
  fill.run({ items: [8192] }, [buffer, 3]);
  {
    using shared = graph.map(buffer, dmabuf);
    assertEquals(shared.route.steps.map(({ edge, evidence }) => [edge, evidence]), [["opencl→dmabuf", "not proven"]]);
    assertEquals(bytesOf(graph, shared), filled(8192, 3));
    using written = graph.map(shared, host) as HostTensor;
    written.bytes().fill(40);
  }
  add.run({ items: [8192] }, [buffer, 2]);
  await buffer.finished();
  {
    using again = graph.map(buffer, dmabuf, { access: "read" });
    assert(bytesOf(graph, again).every((byte) => byte === 42));
  }
  assertEquals(cl.bytesCopied, 0);
  assertEquals(told.filter((call) => call === "clGetMemObjectInfo").length, 2, "once for a trial, once for the buffer");
});

simulated("a part of a buffer keeps its offset in the dma-buf", (cl) => {
  using graph = new MapperGraph([host, dmabuf, cl]);
  using buffer = cl.allocate(BYTES);
  cl.queue.fill(buffer, 1);
  {
    using part = buffer.slice(region(buffer.layout, [4096], [100]));
    using shared = graph.map(part, dmabuf);
    assertEquals(shared.layout.byteOffset, 4096);
    using written = graph.map(shared, host) as HostTensor;
    written.bytes().fill(9);
  }
  const bytes = new Uint8Array(8192);
  cl.queue.read(buffer, bytes);
  assertEquals([bytes[4095], bytes[4096], bytes[4195], bytes[4196]], [1, 9, 9, 1]);
});

simulated("a dma-buf is a buffer of OpenCL's, in place, and a kernel works in it", (cl) => {
  using graph = new MapperGraph([host, dmabuf]);
  using direct = new MapperGraph([dmabuf, cl]); // with the host, its alias is proven, and comes first
  const fd = dmaBufOf(8192);
  using shared = dmabuf.attach(fd, BYTES);
  closeFd(fd);
  {
    using written = graph.map(shared, host) as HostTensor;
    written.bytes().fill(5);
  }
  const { program, add } = kernelsOf(cl);
  using _ = program;
  told.length = 0;
  {
    using buffer = direct.map(shared, cl);
    add.run({ items: [8192] }, [buffer, 6]);
  }
  assertEquals(told, [
    "clCreateBufferWithProperties",
    "clEnqueueAcquireExternalMemObjectsKHR",
    "clEnqueueReleaseExternalMemObjectsKHR",
  ]);
  assert(bytesOf(graph, shared).every((byte) => byte === 11));
});

simulated("one context's buffer is another's, by its dma-buf", async (cl) => {
  await using other = open("pocl");
  using graph = new MapperGraph([cl, other]);
  using buffer = cl.allocate(BYTES);
  cl.queue.fill(buffer, 1);
  {
    using there = graph.map(buffer, other);
    assertEquals(String(there.route.steps[0].edge), "opencl→opencl");
    other.queue.fill(there as OpenCLTensor, 8);
  }
  const bytes = new Uint8Array(8192);
  cl.queue.read(buffer, bytes);
  assert(bytes.every((byte) => byte === 8));
});

simulated("memory that the driver gives no dma-buf of is refused, and says why", (cl) => {
  using graph = new MapperGraph([host, dmabuf, cl]);
  const whyNot = (tensor: OpenCLTensor) =>
    assertThrows(() => graph.map(tensor, dmabuf), NoRouteError).refused.find(({ edge }) => edge === "opencl→dmabuf")
      ?.reason ?? "";
  using memory = host.allocate(BYTES);
  {
    using over = graph.map(memory, cl);
    assert(whyNot(over).includes("over host memory"), whyNot(over));
  }
  const fd = dmaBufOf(8192);
  using shared = dmabuf.attach(fd, BYTES);
  closeFd(fd);
  {
    using direct = new MapperGraph([dmabuf, cl]);
    using imported = direct.map(shared, cl);
    assert(whyNot(imported).includes("memory of another API"), whyNot(imported));
  }
  using fine = cl.allocate(BYTES);
  graph.map(fine, dmabuf)[Symbol.dispose]();
  driver.pool = 65536;
  using pooled = cl.allocate(BYTES);
  driver.pool = 0;
  assert(whyNot(pooled).includes("somewhere in memory of 73728"), whyNot(pooled));
  using failing = cl.allocate(BYTES);
  driver.fails = "clGetMemObjectInfo";
  assert(whyNot(failing).includes("reports no handle"), whyNot(failing));
});
