/** One memory in Vulkan, OpenCL and CUDA: what one writes the others read, in every direction; and who may not have it. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { MapperGraph, NoRouteError, region, type Tensor } from "@samepage/interop";
import { type Api, assertSame, cudaApi, openclApi, random, vulkanApi } from "./apis.ts";
import { assertFdsEnd, type Gpu, gpus, sharingTest } from "./gpu.ts";

const BYTES = (1 << 20) + 16; // no multiple of a page

/** Memory that goes out by an fd, and the API that made it. */
interface Exporter extends Api {
  allocate(byteLength: number): Tensor;
}

/** All of one GPU. */
function open(gpu: Gpu) {
  using made = new DisposableStack();
  const [vulkan, second] = [made.use(gpu.vulkan()), made.use(gpu.vulkan())];
  const [cl, cuda] = [made.use(gpu.opencl()), made.use(gpu.cuda())];
  const shape = (byteLength: number) => ({ shape: [byteLength], dtype: "u8" }) as const;
  const exporters: Exporter[] = [
    { ...vulkanApi(vulkan), allocate: (length) => vulkan.allocate(shape(length)) },
    { ...cudaApi(cuda), name: "CUDA's virtual memory", allocate: (length) => cuda.virtual.allocate(shape(length)) },
  ];
  const importers = [openclApi(cl), cudaApi(cuda), vulkanApi(second, "another Vulkan")];
  const graph = made.use(new MapperGraph([vulkan, second, cl, cuda]));
  const kept = made.move();
  return { vulkan, second, cl, cuda, exporters, importers, graph, [Symbol.dispose]: () => kept.dispose() };
}

/** CUDA does not import its own. */
function crosses(from: Exporter, to: Api): boolean {
  return from.context !== to.context;
}

sharingTest("what one API writes another reads, and back, in every direction", () => {
  using made = open(gpus[0]);
  const { exporters, importers, graph } = made;
  let directions = 0;
  for (const from of exporters) {
    for (const to of importers.filter((to) => crosses(from, to))) {
      const what = `${from.name} to ${to.name}`;
      using memory = from.allocate(BYTES);
      const [there, back, seen] = [random(BYTES), random(BYTES), new Uint8Array(BYTES)];
      from.write(memory, there);
      {
        using mapped = graph.map(memory, to.target);
        assertEquals(mapped.route.steps.map(({ transfer }) => transfer), ["alias"], what);
        to.read(mapped, seen);
        assertSame(seen, there, `${what}, there`);
        to.write(mapped, back);
      }
      from.read(memory, seen);
      assertSame(seen, back, `${what}, and back`);
      directions += 2;
    }
  }
  console.log(`aliasing: ${directions} directions`);
  assertEquals(directions, 10);
});

sharingTest("one memory of Vulkan's in all of them at once, for reading, and by turns for writing", () => {
  using made = open(gpus[0]);
  const { exporters: [vulkan], importers, graph } = made;
  using memory = vulkan.allocate(BYTES);
  const seen = new Uint8Array(BYTES);
  for (const writer of importers) {
    const bytes = random(BYTES);
    {
      using mapped = graph.map(memory, writer.target);
      writer.write(mapped, bytes);
    }
    using all = new DisposableStack();
    const readers = importers.map((api) => ({
      api,
      mapped: all.use(graph.map(memory, api.target, { access: "read" })),
    }));
    for (const { api, mapped } of readers) {
      api.read(mapped, seen.fill(0));
      assertSame(seen, bytes, `${writer.name} wrote, ${api.name} reads`);
    }
    vulkan.read(memory, seen.fill(0));
    assertSame(seen, bytes, `${writer.name} wrote, Vulkan reads`);
  }
});

sharingTest("a part of a memory: its neighbours stay as they are", () => {
  using made = open(gpus[0]);
  const { exporters, importers, graph } = made;
  const [start, length] = [4096, 8192];
  for (const from of exporters) {
    for (const to of importers.filter((to) => crosses(from, to))) {
      const what = `${from.name} to ${to.name}`;
      using memory = from.allocate(BYTES);
      const [expected, part, seen] = [random(BYTES), random(length), new Uint8Array(BYTES)];
      from.write(memory, expected);
      {
        using slice = memory.slice(region(memory.layout, [start], [length]));
        using mapped = graph.map(slice, to.target);
        to.write(mapped, part);
      }
      expected.set(part, start);
      from.read(memory, seen);
      assertSame(seen, expected, what);
    }
  }
});

sharingTest("a thousand maps leave as many fds open as there were, and the memory is imported once or freed", () => {
  using made = open(gpus[0]);
  const { exporters, importers, graph } = made;
  for (const from of exporters) {
    for (const to of importers.filter((to) => crosses(from, to))) {
      using memory = from.allocate(BYTES);
      assertFdsEnd(() => graph.map(memory, to.target)[Symbol.dispose](), 1000);
    }
  }
});

sharingTest("memory that is made, shared and freed leaves no fd", () => {
  using made = open(gpus[0]);
  const { exporters, importers, graph } = made;
  const all = () => {
    for (const from of exporters) {
      using memory = from.allocate(BYTES);
      for (const to of importers.filter((to) => crosses(from, to))) graph.map(memory, to.target)[Symbol.dispose]();
    }
  };
  assertFdsEnd(all, 20);
});

sharingTest("Vulkan's memory of another GPU is refused, with both UUIDs", () => {
  const [one, other] = gpus;
  using here = open(one);
  using there = open(other);
  const contexts = [here.vulkan, here.cl, here.cuda, there.vulkan, there.cl, there.cuda];
  using graph = new MapperGraph(contexts);
  using memory = here.vulkan.allocate({ shape: [BYTES], dtype: "u8" });
  for (const to of [there.vulkan, there.cl, there.cuda]) {
    const { message } = assertThrows(() => graph.map(memory, to), NoRouteError);
    for (const { uuid } of gpus.slice(0, 2)) assertStringIncludes(message, uuid, `Vulkan to ${to.api}`);
  }
}, 2);
