/** One memory for CUDA and OpenCL, and for the CPU where it lies on the host. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { host, ledger, MapperGraph, region } from "@samepage/interop";
import { Port } from "../../src/core/device/port.ts";
import type { MemoryTarget } from "../../src/core/contract.ts";
import { layout } from "../../src/core/layout/layout.ts";
import { NativeCallError } from "../../src/core/errors.ts";
import { libc } from "../../src/core/native/libc.ts";
import { cString } from "../../src/core/native/text.ts";
import { importAs } from "../../src/core/tensors/over.ts";
import type { CudaContext, CudaTensor } from "@samepage/interop/cuda";
import { OpenCLContext, openclDevices, type OpenCLTensor } from "@samepage/interop/opencl";
import { assertOpenFds, openFds } from "../gc.ts";
import { kernelsOf } from "../opencl/help.ts";
import { devices, gpuTest, withCuda } from "./help.ts";

const SHAPE = { shape: [1 << 20], dtype: "u8" } as const;

/** A test on a GPU that OpenCL has too. */
function bothTest(name: string, run: (cuda: CudaContext, cl: OpenCLContext) => unknown): void {
  const uuid = devices[0]?.id.uuid;
  const device = uuid === undefined ? undefined : openclDevices().find(({ id }) => id.uuid === uuid);
  if (uuid !== undefined && device === undefined) {
    Deno.test({ name: `cuda: ${name} (OpenCL does not have this GPU)`, ignore: true, fn() {} });
    return;
  }
  gpuTest(name, () =>
    withCuda(async (cuda) => {
      using cl = OpenCLContext.create([device!]);
      await run(cuda, cl);
    }));
}

for (const location of ["device", "host"] as const) {
  bothTest(`${location} memory is OpenCL's and CUDA's at once, both ways, and proven`, (cuda, cl) => {
    using graph = new MapperGraph([host, cuda, cl]);
    const { program, fill } = kernelsOf(cl);
    using _ = program;
    using tensor = cuda.virtual.allocate({ ...SHAPE, location });
    const route = graph.explain(tensor, cl);
    assertEquals(route.steps.map(({ edge, transfer }) => [edge, transfer]), [["cuda.virtual→opencl", "alias"]]);
    assert(route.steps[0].evidence?.includes("proven by aliasing both ways"), String(route));
    const seen = new Uint8Array(SHAPE.shape[0]);
    cuda.stream.fill(tensor, 5);
    {
      using buffer = graph.map(tensor, cl);
      assertEquals(ledger.alive["opencl.external_fd"], 1);
      cl.queue.read(buffer, seen);
      assert(seen.every((byte) => byte === 5));
      fill.run({ items: [seen.length] }, [buffer, 11]);
      assertThrows(() => cuda.stream.fill(tensor, 0)); // it is lent
    }
    cuda.stream.read(tensor, seen);
    assert(seen.every((byte, i) => byte === ((11 + i * 7) & 0xff)));
  });
}

bothTest("three APIs on one memory: CPU, OpenCL and CUDA take turns", (cuda, cl) => {
  using graph = new MapperGraph([host, cuda, cl]);
  const { program, add } = kernelsOf(cl);
  using _ = program;
  using tensor = cuda.virtual.allocate({ ...SHAPE, location: "host" });
  for (let lap = 0; lap < 20; lap++) {
    {
      using onHost = graph.map(tensor, host);
      (onHost.view() as Uint8Array).fill(lap);
    }
    {
      using buffer = graph.map(tensor, cl);
      add.run({ items: [SHAPE.shape[0]] }, [buffer, 3]);
    }
    const seen = new Uint8Array(SHAPE.shape[0]);
    cuda.stream.read(tensor, seen);
    assert(seen.every((byte) => byte === lap + 3), `lap ${lap}`);
    cuda.stream.fill(tensor, 200 - lap);
    using onHost = graph.map(tensor, host, { access: "read" });
    assert(onHost.view().every((byte) => byte === 200 - lap), `lap ${lap}`);
  }
});

bothTest("a part of virtual memory goes to OpenCL, and its neighbours stay as they are", (cuda, cl) => {
  using graph = new MapperGraph([cuda, cl]);
  const { program, addAt } = kernelsOf(cl);
  using _ = program;
  using image = cuda.virtual.allocate({ shape: [64, 1000], dtype: "u8" });
  cuda.stream.fill(image, 1);
  {
    using rows = image.slice(region(image.layout, [7, 0], [3, 1000]));
    using buffer = graph.map(rows, cl);
    addAt.run({ items: [buffer.layout.byteLength] }, [buffer.base, BigInt(buffer.layout.byteOffset), 4]);
  }
  const seen = new Uint8Array(64_000);
  cuda.stream.read(image, seen);
  assert(seen.every((byte, i) => byte === (i >= 7000 && i < 10_000 ? 5 : 1)));
});

bothTest("a thousand maps leave no fd, and one fd is exported", (cuda, cl) => {
  using graph = new MapperGraph([cuda, cl]);
  using tensor = cuda.virtual.allocate(SHAPE);
  for (let i = 0; i < 20; i++) graph.map(tensor, cl)[Symbol.dispose]();
  const before = openFds();
  for (let i = 0; i < 1000; i++) graph.map(tensor, cl)[Symbol.dispose]();
  assert(Math.abs(openFds() - before) < 5, `${openFds()} fds, ${before} before`);
});

bothTest("what OpenCL has of CUDA's memory is not shown to the host by OpenCL", (cuda, cl) => {
  using graph = new MapperGraph([host, cuda, cl]);
  using tensor = cuda.virtual.allocate({ ...SHAPE, location: "host" });
  using buffer = graph.map(tensor, cl);
  const route = graph.explain(buffer, host);
  assert(!route.open && String(route).includes("memory of another API"), String(route));
});

/** Memory by an fd, as another process would send it. */
function imported(target: MemoryTarget, fd: number, byteLength = 2 << 20) {
  const received = { layouts: [layout(SHAPE)], access: "read-write" } as const;
  return importAs(target, new Port("opaque-fd", { fd, byteLength }), received);
}

gpuTest("CUDA imports memory by an fd as often as it is asked, in place, and leaves no fd", () =>
  withCuda((cuda) => {
    using memory = cuda.virtual.allocate(SHAPE);
    const seen = new Uint8Array(SHAPE.shape[0]);
    imported(cuda, cuda.virtual.exportFd(memory))[Symbol.dispose](); // what the driver opens once, and keeps
    const fds = openFds();
    {
      using one = imported(cuda, cuda.virtual.exportFd(memory)) as CudaTensor;
      using two = imported(cuda, cuda.virtual.exportFd(memory)) as CudaTensor;
      cuda.stream.fill(one, 21);
      cuda.stream.read(two, seen);
      assert(seen.every((byte) => byte === 21));
      cuda.stream.fill(memory, 22);
      cuda.stream.read(one, seen);
      assert(seen.every((byte) => byte === 22));
    }
    assertOpenFds(fds);
  }));

gpuTest(
  "an fd that is not of memory, or of less of it, is refused by name, and no fd is left",
  () =>
    withCuda((cuda) => {
      using memory = cuda.virtual.allocate(SHAPE);
      const attempts: readonly (readonly [what: string, fd: () => number, byteLength?: number])[] = [
        ["a memfd", () => libc().memfd_create(cString("no memory of a GPU"), 0)],
        ["a file", () => libc().open(cString("/dev/null"), 0, 0)],
        ["longer than it is", () => cuda.virtual.exportFd(memory), 2 ** 40],
      ];
      for (const [what, fd, byteLength] of attempts) assertThrows(() => imported(cuda, fd(), byteLength), what);
      const fds = openFds();
      for (const [what, fd, byteLength] of attempts) {
        assertThrows(() => imported(cuda, fd(), byteLength), NativeCallError, undefined, what);
        assertEquals(openFds(), fds, what);
      }
      cuda.stream.fill(memory, 1); // CUDA still works
      cuda.stream.finish();
    }),
);

bothTest("OpenCL refuses an fd that is not of memory, and leaves none", (_cuda, cl) => {
  const memfd = () => libc().memfd_create(cString("no memory of a GPU"), 0);
  assertThrows(() => imported(cl, memfd()), NativeCallError);
  const fds = openFds();
  for (let i = 0; i < 10; i++) assertThrows(() => imported(cl, memfd()), NativeCallError);
  assertOpenFds(fds);
});

bothTest("OpenCL imports memory by an fd as often as it is asked, in place, and leaves no fd", (cuda, cl) => {
  using memory = cuda.virtual.allocate(SHAPE);
  const seen = new Uint8Array(SHAPE.shape[0]);
  imported(cl, cuda.virtual.exportFd(memory))[Symbol.dispose]();
  const fds = openFds();
  {
    using one = imported(cl, cuda.virtual.exportFd(memory)) as OpenCLTensor;
    using two = imported(cl, cuda.virtual.exportFd(memory)) as OpenCLTensor;
    cuda.stream.fill(memory, 9);
    cuda.stream.finish();
    for (const tensor of [one, two]) {
      cl.queue.read(tensor, seen);
      assert(seen.every((byte) => byte === 9));
    }
  }
  assertOpenFds(fds);
});

gpuTest("virtual memory goes to no platform that does not import it", () =>
  withCuda((cuda) => {
    for (const device of openclDevices().filter(({ extensions }) => !extensions.includes("cl_khr_external_memory"))) {
      using cl = OpenCLContext.create([device]);
      using graph = new MapperGraph([cuda, cl]);
      using tensor = cuda.virtual.allocate(SHAPE);
      assert(String(graph.explain(tensor, cl)).includes("cl_khr_external_memory"), device.platform);
    }
  }));
