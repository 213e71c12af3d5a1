/** Virtual memory on a GPU: made, shown to the host, given out by its fd, and taken in by one. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  host,
  layout,
  LayoutError,
  MapperGraph,
  NativeCallError,
  region,
} from "@samepage/interop";
import { CudaContext } from "@samepage/interop/cuda";
import { dmabuf } from "@samepage/interop/dmabuf";
import { closeFd } from "../../src/core/native/fd.ts";
import { gpuTest, withCuda } from "./help.ts";

const BYTES = 1 << 20;
const SHAPE = { shape: [BYTES], dtype: "u8" } as const;

function random(length = BYTES): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536) {
    crypto.getRandomValues(bytes.subarray(at, Math.min(length, at + 65_536)));
  }
  return bytes;
}

gpuTest(
  "virtual memory of the device holds what is written, and its block is a multiple of the granularity",
  () =>
    withCuda((cuda) => {
      using tensor = cuda.virtual.allocate(SHAPE);
      const bytes = random();
      cuda.stream.write(tensor, bytes);
      const seen = new Uint8Array(BYTES);
      cuda.stream.read(tensor, seen);
      assertEquals(seen, bytes);
      const block = cuda.virtual.blockOf(tensor.grant.allocation)!;
      assertEquals(block.byteLength % (64 * 1024), 0);
      assert(block.byteLength >= BYTES);
      assertEquals(block.hostAddress, undefined);
    }),
);

gpuTest(
  "virtual memory of the host has one address for host and kernels, and is proven an alias",
  () =>
    withCuda((cuda) => {
      using graph = new MapperGraph([host, cuda]);
      using tensor = cuda.virtual.allocate({ ...SHAPE, location: "host" });
      assertEquals(tensor.hostHandle, tensor.rawHandle);
      const route = graph.explain(tensor, host);
      assertEquals(route.steps.map(({ edge, transfer }) => [edge, transfer]), [["cuda.virtual→host", "alias"]]);
      assert(route.steps[0].evidence?.includes("proven by aliasing"), String(route));
      const bytes = random();
      {
        using onHost = graph.map(tensor, host);
        assertEquals(onHost.handle, tensor.rawHandle);
        (onHost.view() as Uint8Array).set(bytes);
        assertThrows(() => cuda.stream.fill(tensor, 0)); // it is lent
      }
      const seen = new Uint8Array(BYTES);
      cuda.stream.read(tensor, seen);
      assertEquals(seen, bytes);
      cuda.stream.fill(tensor, 9);
      using onHost = graph.map(tensor, host, { access: "read" });
      assert(onHost.view().every((byte) => byte === 9));
    }),
);

gpuTest(
  "virtual memory of the device is not memory of the host, and the refusal says what is",
  () =>
    withCuda((cuda) => {
      using graph = new MapperGraph([host, cuda]);
      using tensor = cuda.virtual.allocate(SHAPE);
      const route = graph.explain(tensor, host);
      assertEquals(route.open, false);
      assert(route.refused.some(({ remedy }) => remedy?.includes('location: "host"')), String(route));
    }),
);

gpuTest(
  "an fd imports as the same bytes, stays the caller's, and is handed out as often as asked",
  () =>
    withCuda((cuda) => {
      for (const location of ["device", "host"] as const) {
        using tensor = cuda.virtual.allocate({ ...SHAPE, location });
        const [fd, again] = [cuda.virtual.exportFd(tensor), cuda.virtual.exportFd(tensor)];
        assert(fd !== again);
        try {
          using other = cuda.virtual.import(fd, SHAPE);
          assert(other.handle !== tensor.handle);
          assertEquals(other.hostHandle !== undefined, location === "host");
          const [bytes, seen] = [random(), new Uint8Array(BYTES)];
          cuda.stream.write(tensor, bytes);
          cuda.stream.read(other, seen);
          assertEquals(seen, bytes, `${location}: there`);
          cuda.stream.fill(other, 77);
          cuda.stream.read(tensor, seen);
          assert(seen.every((byte) => byte === 77), `${location}: and back`);
          closeFd(cuda.virtual.exportFd(other)); // what was imported can be given on
        } finally {
          closeFd(fd); // open still: else this throws
          closeFd(again);
        }
      }
    }),
);

gpuTest("memory that is shorter than the layout is a typed error, and leaves nothing", () =>
  withCuda((cuda) => {
    using tensor = cuda.virtual.allocate(SHAPE);
    const fd = cuda.virtual.exportFd(tensor);
    try {
      const far = { shape: [64 << 20], dtype: "u8" } as const;
      assertEquals(assertThrows(() => cuda.virtual.import(fd, far), NativeCallError).argument, "init");
    } finally {
      closeFd(fd);
    }
  }));

gpuTest("an fd that is not CUDA memory, or none at all, is a typed error, and stays open", () =>
  withCuda((cuda) => {
    using memory = host.allocate({ ...SHAPE, sharable: true });
    const fd = memory.exportFd();
    const error = assertThrows(() => cuda.virtual.import(fd, SHAPE), NativeCallError);
    assertEquals([error.fn, error.argument], ["cuMemImportFromShareableHandle", "fd"]);
    closeFd(fd);
    assertThrows(() => cuda.virtual.import(fd, SHAPE), ArgumentError, "is not open");
    for (const none of [-1, 1.5, 2 ** 40, "3"]) {
      assertEquals(assertThrows(() => cuda.virtual.import(none as number, SHAPE), ArgumentError).argument, "fd");
    }
  }));

gpuTest(
  "what cannot be exported is refused: a part, memory without an fd, memory of another kind",
  () =>
    withCuda((cuda) => {
      using tensor = cuda.virtual.allocate(SHAPE);
      using part = tensor.slice({ ...tensor.layout });
      assertThrows(() => cuda.virtual.exportFd(part), ArgumentError, "owns its block");
      using hidden = cuda.virtual.allocate({ ...SHAPE, sharable: false });
      assertThrows(() => cuda.virtual.exportFd(hidden), ArgumentError, "sharable");
      using plain = cuda.allocate(SHAPE);
      assertThrows(() => cuda.virtual.exportFd(plain), ArgumentError);
      assertThrows(
        () => cuda.virtual.allocate({ ...SHAPE, location: "elsewhere" as "host" }),
        ArgumentError,
        "location",
      );
      assertThrows(() => cuda.virtual.allocate({ ...SHAPE, devices: [{}] as unknown as CudaContext[] }), ArgumentError);
    }),
);

gpuTest(
  "a dma-buf is of whole pages of the device's memory, and closed with the tensor at the latest",
  () =>
    withCuda(async (cuda) => {
      using tensor = cuda.allocate({ shape: [2 << 20], dtype: "u8" });
      {
        using dmaBuf = cuda.exportDmaBuf(tensor);
        assertEquals(dmaBuf.byteLength, 2 << 20);
        assert((await Deno.readLink(`/proc/self/fd/${dmaBuf.fd}`)).includes("dmabuf"));
      }
      const inside = { shape: [4096], dtype: "u8", strides: [1], byteOffset: 100, byteLength: 4096 } as const;
      using part = tensor.slice(inside);
      assertThrows(() => cuda.exportDmaBuf(part), LayoutError, "whole pages");
      using pinned = cuda.pinned.allocate({ shape: [4096], dtype: "u8" });
      assertThrows(() => cuda.exportDmaBuf(pinned), ArgumentError);
      const held = cuda.allocate({ shape: [2 << 20], dtype: "u8" });
      const left = cuda.exportDmaBuf(held);
      held[Symbol.dispose]();
      assertThrows(() => left.fd);
    }),
);

gpuTest(
  "a dma-buf that is attached by its fd is a peer of the tensor that it was made of, or of the part",
  () =>
    withCuda((cuda) => {
      using tensor = cuda.allocate({ shape: [2 << 20], dtype: "u8" });
      for (const start of [0, 1 << 20]) {
        using part = tensor.slice(layout({ shape: [1 << 20], dtype: "u8", byteOffset: start }));
        using dmaBuf = cuda.exportDmaBuf(part);
        using attached = dmabuf.attach(dmaBuf.fd, { shape: [4096], dtype: "u8", byteOffset: 8192 });
        assertEquals(attached.grant.allocation === tensor.grant.allocation, true);
        assertEquals(attached.grant.start, tensor.grant.start + start + 8192);
        assertThrows(() => attached.borrow("read-write"), AccessError, "slice");
      }
      using dmaBuf = cuda.exportDmaBuf(tensor);
      using attached = dmabuf.attach(dmaBuf.fd, { shape: [4096], dtype: "u8", byteOffset: 8192 });
      using _lent = attached.borrow("read-write");
      assertThrows(() => tensor.assertUsable("read"), AccessError);
    }),
);

gpuTest(
  "device memory maps to dmabuf in whole pages, and an attach to its fd finds the same allocation",
  () =>
    withCuda((cuda) => {
      using graph = new MapperGraph([cuda, dmabuf]);
      using tensor = cuda.allocate({ shape: [2 << 20], dtype: "u8" });
      {
        using mapped = graph.map(tensor, dmabuf);
        assertEquals(mapped.route.steps.map(({ edge, transfer }) => [edge, transfer]), [["cuda→dmabuf", "alias"]]);
        assertEquals([mapped.handle.byteLength, mapped.layout.byteOffset], [2 << 20, 0]);
        const fd = mapped.exportFd();
        using again = dmabuf.attach(fd, { shape: [4096], dtype: "u8" }, { access: "read" });
        assert(again.grant.allocation === tensor.grant.allocation);
        closeFd(fd);
        assertThrows(() => graph.map(again, dmabuf, { access: "write" }), AccessError);
      }
      using part = tensor.slice(region(tensor.layout, [100], [4096]));
      assert(String(graph.explain(part, dmabuf)).includes("whole pages"));
      using pinned = cuda.pinned.allocate({ shape: [4096], dtype: "u8" });
      assert(!graph.explain(pinned, dmabuf).open);
    }),
);

gpuTest("virtual memory of two devices: both use it by one address", async () => {
  await withCuda(async (first) => {
    await using second = CudaContext.open({ ordinal: 1 });
    for (const location of ["device", "host"] as const) {
      using tensor = first.virtual.allocate({ ...SHAPE, location, devices: [second] });
      using program = second.program('extern "C" __global__ void add(unsigned char* x) { x[blockIdx.x] += 5; }');
      using add = program.kernel("add", ["unsigned char*"]);
      first.stream.fill(tensor, 1);
      add.run({ groups: [BYTES], groupSize: [1] }, [tensor]);
      const seen = new Uint8Array(BYTES);
      first.stream.read(tensor, seen);
      assert(seen.every((byte) => byte === 6), location);
      using alone = first.virtual.allocate({ ...SHAPE, location });
      assertThrows(() => add.run({ groups: [1], groupSize: [1] }, [alone]), ArgumentError);
    }
  });
}, 2);
