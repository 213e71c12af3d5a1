/** Memory and semaphores of one GPU in the three APIs of another. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { ArgumentError, MapperGraph, NativeCallError, NoRouteError, Semaphore } from "@samepage/interop";
import type { CudaTensor } from "@samepage/interop/cuda";
import type { OpenCLTensor } from "@samepage/interop/opencl";
import { importedApart } from "../../bench/operations/apart.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { assertSame, cudaApi, openclApi, random, vulkanApi } from "./apis.ts";
import { type Gpu, gpus, sharingTest } from "./gpu.ts";

const BYTES = (1 << 20) + 16; // no multiple of a page
const SHAPE = { shape: [BYTES], dtype: "u8" } as const;

/** The three APIs of one GPU. */
function open(gpu: Gpu) {
  using made = new DisposableStack();
  const [vulkan, cl, cuda] = [made.use(gpu.vulkan()), made.use(gpu.opencl()), made.use(gpu.cuda())];
  const kept = made.move();
  return { vulkan, cl, cuda, [Symbol.dispose]: () => kept.dispose() };
}

type Opened = ReturnType<typeof open>;

/** Both GPUs, and a graph of all that is open. */
function openBoth() {
  using made = new DisposableStack();
  const [here, there] = gpus.slice(0, 2).map((gpu) => made.use(open(gpu)));
  const all = ({ vulkan, cl, cuda }: Opened) => [vulkan, cl, cuda];
  const graph = made.use(new MapperGraph([...all(here), ...all(there)]));
  const kept = made.move();
  return { here, there, graph, [Symbol.dispose]: () => kept.dispose() };
}

for (const location of ["device", "host"] as const) {
  sharingTest(`cuda.virtual of one GPU, on the ${location}, is the same memory in the APIs of another`, () => {
    using both = openBoth();
    const { here, there, graph } = both;
    const owner = cudaApi(here.cuda);
    const readers = [
      openclApi(there.cl),
      cudaApi(there.cuda),
      ...(location === "host" ? [vulkanApi(there.vulkan)] : []),
    ];
    using memory = here.cuda.virtual.allocate({ ...SHAPE, location, devices: [there.cuda] });
    const seen = new Uint8Array(BYTES);
    for (const to of readers) {
      const [written, answer] = [random(BYTES), random(BYTES)];
      owner.write(memory, written);
      {
        using mapped = graph.map(memory, to.target);
        const { steps } = mapped.route;
        console.log(
          `two GPUs: cuda.virtual on the ${location} to ${to.name}: ${steps.map(({ evidence }) => evidence)}`,
        );
        assertEquals(steps.map(({ transfer }) => transfer), ["alias"], to.name);
        to.read(mapped, seen.fill(0));
        assertSame(seen, written, `${to.name}, there`);
        to.write(mapped, answer);
      }
      owner.read(memory, seen.fill(0));
      assertSame(seen, answer, `${to.name}, and back`);
    }
  }, 2);
}

sharingTest("cuda.virtual in OpenCL of another GPU and of its own at once: both read the same", () => {
  using both = openBoth();
  const { here, there, graph } = both;
  using memory = here.cuda.virtual.allocate(SHAPE);
  const written = random(BYTES);
  here.cuda.stream.write(memory, written);
  const [own, other] = [here.cl, there.cl].map(openclApi);
  using near = graph.map(memory, own.target, { access: "read" });
  using far = graph.map(memory, other.target, { access: "read" });
  const seen = new Uint8Array(BYTES);
  for (const [api, mapped] of [[own, near], [other, far]] as const) {
    api.read(mapped, seen.fill(0));
    assertSame(seen, written, api.name);
  }
}, 2);

sharingTest("cuda.virtual on the device is refused by Vulkan of another GPU, which would show other bytes", () => {
  using both = openBoth();
  const { here, there, graph } = both;
  using memory = here.cuda.virtual.allocate(SHAPE);
  const { message } = assertThrows(() => graph.map(memory, there.vulkan), NoRouteError);
  console.log(`two GPUs: ${message}`);
  for (const part of ["memory of another GPU", gpus[1].uuid, "other bytes", 'location: "host"']) {
    assertStringIncludes(message, part);
  }
}, 2);

sharingTest("cuda.virtual that was made for one GPU is refused by CUDA on another, and copied on request", () => {
  using both = openBoth();
  const { here, there, graph } = both;
  using memory = here.cuda.virtual.allocate(SHAPE);
  assertThrows(() => graph.map(memory, there.cuda), NoRouteError, "it was not allocated for that device");
  const [written, seen] = [random(BYTES), new Uint8Array(BYTES)];
  here.cuda.stream.write(memory, written);
  {
    using copy = graph.map(memory, there.cuda, { copy: "allow" }) as CudaTensor;
    there.cuda.stream.read(copy, seen);
    assertSame(seen, written, "the copy");
    there.cuda.stream.fill(copy, 9);
  }
  here.cuda.stream.read(memory, seen);
  assert(seen.every((byte) => byte === 9));
}, 2);

sharingTest("Vulkan's memory of one GPU is refused by the APIs of another, by its UUID", () => {
  using both = openBoth();
  const { here, there, graph } = both;
  using memory = here.vulkan.allocate(SHAPE);
  for (const target of [there.vulkan, there.cl, there.cuda]) {
    const { message } = assertThrows(() => graph.map(memory, target), NoRouteError);
    console.log(`two GPUs: ${message}`);
    for (const { uuid } of gpus.slice(0, 2)) assertStringIncludes(message, uuid, target.api);
    const { size, type, dedicated } = memory.handle.info!;
    const fd = memory.handle.exportFd("opaque-fd");
    const init = { ...SHAPE, size, type: type.index, dedicated, uuid: gpus[0].uuid };
    assertThrows(() => target.importMemory(fd, init), ArgumentError, "the memory is of device");
    closeFd(fd); // it is still open
  }
}, 2);

sharingTest("Vulkan's memory of one GPU, by an fd without its UUID: the drivers of another refuse it", () => {
  using both = openBoth();
  const { here, there } = both;
  using memory = here.vulkan.allocate(SHAPE);
  for (const target of [there.cl, there.cuda]) {
    const { size, dedicated } = memory.handle.info!;
    const fd = memory.handle.exportFd("opaque-fd");
    const { fn, code } = assertThrows(() => target.importMemory(fd, { ...SHAPE, size, dedicated }), NativeCallError);
    console.log(`two GPUs: Vulkan's memory in ${target.api} of another GPU: ${fn} returned ${code}`);
    closeFd(fd);
  }
}, 2);

sharingTest("a semaphore of Vulkan's on one GPU orders OpenCL and CUDA on another, and between the two", () => {
  using both = openBoth();
  const { here, there } = both;
  const pairs = [
    { cl: there.cl, cuda: there.cuda, what: "both on the other GPU" },
    { cl: here.cl, cuda: there.cuda, what: "OpenCL on its own GPU" },
    { cl: there.cl, cuda: here.cuda, what: "CUDA on its own GPU" },
  ];
  const seen = new Uint32Array(1 << 20);
  for (const { cl, cuda, what } of pairs) {
    const devices = [there.cuda];
    using words = here.cuda.virtual.allocate({ shape: [seen.length], dtype: "u32", devices });
    using apart = importedApart(words, cl);
    using filled = Semaphore.create(here.vulkan);
    for (let i = 1; i <= 50; i++) {
      cl.queue.fill(apart.tensor as OpenCLTensor, i);
      filled.in(cl).signal();
      filled.in(cuda).wait();
      cuda.stream.read(words, seen);
      const wrong = seen.findIndex((word) => word !== i);
      assertEquals(wrong, -1, `${what}, time ${i}: word ${wrong} is ${seen[wrong]}`);
    }
  }
}, 2);
