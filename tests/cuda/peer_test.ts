/** Memory of one GPU in the kernels of another. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, MapperGraph, NoRouteError } from "@samepage/interop";
import { CudaContext } from "@samepage/interop/cuda";
import { gpuTest, withCuda } from "./help.ts";

const N = 1 << 20;
const SHAPE = { shape: [N], dtype: "u8" } as const;
const SOURCE = `extern "C" __global__ void add(unsigned char* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 5;
}`;

/** A kernel of a context that adds 5 to each byte. */
function adder(cuda: CudaContext) {
  const program = cuda.program(SOURCE);
  const add = program.kernel("add", ["unsigned char*", "int"]);
  const run = (tensor: Parameters<typeof add.run>[1][number]) => {
    add.run({ groups: [N / 256], groupSize: [256] }, [tensor, N]);
  };
  return { run, [Symbol.dispose]: () => program[Symbol.dispose]() };
}

gpuTest("two contexts of one device share its memory without more ado", () =>
  withCuda((first) => {
    using second = CudaContext.open({ ordinal: first.device.ordinal });
    using graph = new MapperGraph([first, second]);
    using tensor = first.allocate(SHAPE);
    first.stream.fill(tensor, 1);
    {
      using there = graph.map(tensor, second);
      assertEquals(there.handle, tensor.rawHandle);
      using add = adder(second);
      add.run(there);
    }
    const seen = new Uint8Array(N);
    first.stream.read(tensor, seen);
    assert(seen.every((byte) => byte === 6));
  }));

gpuTest("a kernel of one GPU works on memory of another, by its own address; the bandwidth is printed", async () => {
  await withCuda(async (first) => {
    await using second = CudaContext.open({ ordinal: 1 });
    using graph = new MapperGraph([first, second]);
    using tensor = first.allocate(SHAPE);
    using add = adder(second);
    assertThrows(() => add.run(tensor), ArgumentError); // before any access is enabled
    const route = graph.explain(tensor, second);
    if (!second.peers.canReach(0)) {
      assert(!route.open && route.refused.some(({ remedy }) => remedy?.includes('copy: "allow"')), String(route));
      assertThrows(() => graph.map(tensor, second), NoRouteError);
      return;
    }
    assertEquals(route.steps.map(({ edge, transfer }) => [edge, transfer]), [["cuda→cuda", "alias"]]);
    assert(/measured \d+ GB\/s, own \d+/.test(route.steps[0].evidence ?? ""), String(route));
    first.stream.fill(tensor, 1);
    for (let lap = 1; lap <= 3; lap++) {
      using there = graph.map(tensor, second);
      assertEquals([there.memory, there.handle], ["peer", tensor.rawHandle]);
      add.run(there);
    }
    const seen = new Uint8Array(N);
    first.stream.read(tensor, seen);
    assert(seen.every((byte) => byte === 16));
    assertThrows(() => add.run(tensor), ArgumentError); // still: only what was mapped
  });
}, 2);

gpuTest("what peer access is not to is refused by its kind", async () => {
  await withCuda(async (first) => {
    await using second = CudaContext.open({ ordinal: 1 });
    using graph = new MapperGraph([first, second]);
    using pooled = first.stream.allocate(SHAPE);
    assert(String(graph.explain(pooled, second, { copy: "allow" })).includes("memory pool"));
    using third = CudaContext.open({ ordinal: 0 });
    using all = new MapperGraph([first, second, third]);
    using own = first.allocate(SHAPE);
    using there = all.map(own, second);
    assert(String(all.explain(there, third)).includes("own memory"));
  });
}, 2);

gpuTest("copies between devices go there, and come back when the map ends", async () => {
  await withCuda(async (first) => {
    await using second = CudaContext.open({ ordinal: 1 });
    second.peers.canReach = () => false; // as on a machine where they cannot
    using graph = new MapperGraph([first, second]);
    using tensor = first.allocate(SHAPE);
    using add = adder(second);
    first.stream.fill(tensor, 1);
    assertThrows(() => graph.map(tensor, second), NoRouteError);
    {
      using there = graph.map(tensor, second, { copy: "allow" });
      assert(there.handle !== tensor.rawHandle);
      assertEquals(there.route.bytesMoved, 2 * N);
      add.run(there);
    }
    const seen = new Uint8Array(N);
    first.stream.read(tensor, seen);
    assert(seen.every((byte) => byte === 6));
  });
}, 2);

gpuTest("the thread's current device is the one that it was", async () => {
  await withCuda(async (first) => {
    await using second = CudaContext.open({ ordinal: 1 });
    using graph = new MapperGraph([first, second]);
    const { cudart } = await import("../../src/cuda/library.ts");
    const device = new Int32Array(1);
    cudart().cudaGetDevice(device);
    const before = device[0];
    using tensor = first.allocate(SHAPE);
    using _ = graph.map(tensor, second, { copy: "allow" });
    cudart().cudaGetDevice(device);
    assertEquals(device[0], before);
  });
}, 2);
