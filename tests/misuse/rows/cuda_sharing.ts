import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  imageInfo,
  type InteropError,
  LayoutError,
  MapperGraph,
  NativeCallError,
  NoRouteError,
  Semaphore,
} from "@samepage/interop";
import { CudaContext, type CudaTensor } from "@samepage/interop/cuda";
import { OpenCLContext, openclDevices } from "@samepage/interop/opencl";
import { VulkanContext } from "@samepage/interop/vulkan";
import { any, fails, same } from "../kit.ts";
import { type Row, table } from "../row.ts";

const WORDS = { shape: [1024], dtype: "u32" } as const;
const MANY = { shape: [1 << 29], dtype: "u32" } as const; // so much that a few fills outlast the calls behind them
const PIXELS = { shape: [33, 70, 4] } as const;
const RGBA = "R8G8B8A8_UNORM";
const CL_RGBA = { order: "RGBA", type: "UNORM_INT8" } as const;
const CUDA_RGBA = { dtype: "u8", channels: 4 } as const;

/** One GPU in three APIs, and a graph over them. */
interface Shared {
  readonly vulkan: VulkanContext;
  readonly cl: OpenCLContext;
  readonly cuda: CudaContext;
  readonly graph: MapperGraph;
}

/** OpenCL on a device by its UUID. */
function openclOn(uuid: string): OpenCLContext {
  const device = openclDevices().find(({ id }) => id.uuid === uuid);
  if (device === undefined) throw new Error("OpenCL does not have the GPU");
  return OpenCLContext.create([device]);
}

/** A row on one GPU in three APIs. It ends well: its mistakes are typed errors, and the rest goes on. */
function sharing(use: (shared: Shared) => unknown): Row {
  return {
    gpus: 1,
    async run() {
      using cuda = CudaContext.open();
      using vulkan = VulkanContext.open({ uuid: cuda.id.uuid! });
      using cl = openclOn(cuda.id.uuid!);
      using graph = new MapperGraph([host, vulkan, cl, cuda]);
      await use({ vulkan, cl, cuda, graph });
      cl.queue.finish();
      cuda.stream.finish();
      vulkan.queue.finish();
    },
  };
}

/** The same with a binary semaphore in all three. */
function withSemaphore(use: (semaphore: Semaphore, shared: Shared) => unknown): Row {
  return sharing(async (shared) => {
    using semaphore = Semaphore.create(shared.vulkan);
    await use(semaphore, shared);
  });
}

/** Why no route is open, in one text. */
function reasonsOf(error: InteropError): string {
  return (error as NoRouteError).refused.map(({ reason }) => reason).join("; ");
}

function told(what: string, said: string, expected: RegExp): void {
  if (!expected.test(said)) throw new Error(`${what}: ${said}`);
}

export default table(import.meta, {
  "a signal that OpenCL waits for twice": withSemaphore((semaphore, { vulkan, cl }) => {
    semaphore.in(vulkan).signal();
    const waiter = semaphore.in(cl);
    waiter.wait();
    fails("again", () => waiter.wait(), AccessError);
  }),
  "a signal that CUDA waits for twice": withSemaphore((semaphore, { vulkan, cuda }) => {
    semaphore.in(vulkan).signal();
    semaphore.in(cuda).wait();
    fails("again", () => semaphore.in(cuda).wait(), AccessError);
  }),
  "a signal that OpenCL and CUDA wait for": withSemaphore((semaphore, { vulkan, cl, cuda }) => {
    semaphore.in(vulkan).signal();
    semaphore.in(cl).wait();
    fails("CUDA", () => semaphore.in(cuda).wait(), AccessError);
  }),
  "waits without a signal, in all three": withSemaphore((semaphore, { vulkan, cl, cuda }) => {
    for (const user of [vulkan, cl, cuda]) fails(user.api, () => semaphore.in(user).wait(), AccessError);
    semaphore.in(cl).signal(); // none of them is in the way
    semaphore.in(cuda).wait();
  }),
  "a binary semaphore that is signalled twice": withSemaphore((semaphore, { cl, cuda }) => {
    semaphore.in(cl).signal();
    fails("again", () => semaphore.in(cl).signal(), AccessError);
    fails("by another", () => semaphore.in(cuda).signal(), AccessError);
    semaphore.in(cuda).wait();
  }),
  "a signal while the wait for the last one may be in flight": withSemaphore((semaphore, { vulkan, cl, cuda }) => {
    using words = cuda.allocate(MANY);
    const [inCl, inCuda] = [semaphore.in(cl), semaphore.in(cuda)]; // an import may wait for the GPU
    semaphore.in(vulkan).signal();
    for (let i = 0; i < 40; i++) cuda.stream.fill(words, i); // tens of milliseconds
    inCuda.wait();
    fails("OpenCL's", () => inCl.signal(), AccessError);
    inCuda.signal(); // behind its own wait
    fails("OpenCL's wait beside CUDA's", () => inCl.wait(), AccessError);
    cuda.stream.finish();
    inCl.wait();
  }),
  "two semaphores in a circle": sharing(({ vulkan, cl, cuda }) => {
    using one = Semaphore.create(vulkan);
    using other = Semaphore.create(vulkan);
    fails("CUDA's wait", () => one.in(cuda).wait(), AccessError);
    fails("OpenCL's wait", () => other.in(cl).wait(), AccessError);
    one.in(cl).signal();
    one.in(cuda).wait();
    other.in(cuda).signal();
    other.in(cl).wait();
  }),
  "a timeline as OpenCL's": sharing(({ vulkan, cl, cuda }) => {
    using timeline = Semaphore.create(vulkan, { kind: "timeline" });
    fails("OpenCL", () => timeline.in(cl), ArgumentError);
    timeline.in(vulkan).signal();
    timeline.in(cuda).wait();
    same("value", timeline.value, 1n);
  }),
  "a timeline's signal that may come before the last one": sharing(({ vulkan, cuda }) => {
    using timeline = Semaphore.create(vulkan, { kind: "timeline" });
    using words = vulkan.allocate(MANY);
    const inCuda = timeline.in(cuda); // an import may wait for the GPU
    for (let i = 0; i < 400; i++) vulkan.queue.fill(words, i); // hundreds of milliseconds
    timeline.in(vulkan).signal();
    fails("CUDA", () => inCuda.signal(), AccessError);
    inCuda.wait();
    inCuda.signal();
    same("value", timeline.value, 2n);
  }),
  "a kind of semaphore that there is not": sharing(({ vulkan, cuda }) => {
    fails("a fence", () => Semaphore.create(vulkan, { kind: any("fence") }), ArgumentError);
    fails("CUDA makes none", () => Semaphore.create(any(cuda)), ArgumentError);
  }),
  "a semaphore's user that has no line": withSemaphore((semaphore, { graph, cuda }) => {
    using words = cuda.allocate(WORDS);
    for (const user of [graph, words, semaphore, null, 1]) {
      fails(`${user}`, () => semaphore.in(any(user)), ArgumentError);
    }
  }),
  "a semaphore that ends while it is in use": sharing(({ vulkan, cl, cuda }) => {
    using words = cuda.allocate({ shape: [1 << 22], dtype: "u32" });
    const semaphore = Semaphore.create(vulkan);
    for (let i = 0; i < 20; i++) cuda.stream.fill(words, i);
    const [signals, waits] = [semaphore.in(cuda), semaphore.in(cl)];
    signals.signal();
    waits.wait();
    semaphore[Symbol.dispose](); // it waits for both
    fails("signal", () => signals.signal(), DisposedError);
    fails("wait", () => waits.wait(), DisposedError);
    fails("in", () => semaphore.in(cuda), DisposedError);
  }),
  "a semaphore whose maker has ended": sharing(({ cuda, cl }) => {
    const vulkan = VulkanContext.open({ uuid: cuda.id.uuid! });
    const semaphore = Semaphore.create(vulkan);
    const part = semaphore.in(cl);
    vulkan[Symbol.dispose]();
    fails("signal", () => part.signal(), DisposedError);
    fails("a new one", () => Semaphore.create(vulkan), DisposedError);
  }),
  "a semaphore in a context that has ended": sharing(({ vulkan }) => {
    using semaphore = Semaphore.create(vulkan);
    const cuda = CudaContext.open();
    cuda[Symbol.dispose]();
    fails("in", () => semaphore.in(cuda), DisposedError);
  }),
  "a wait for a signal behind a promise that is not settled": withSemaphore(async (semaphore, { vulkan, cuda }) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const gate = host.signal(promise);
    fails("Vulkan would block", () => vulkan.queue.waitFor(gate), AccessError);
    fails("CUDA would block", () => cuda.stream.waitFor(gate), AccessError);
    resolve();
    await gate.wait();
    vulkan.queue.waitFor(gate);
    semaphore.in(vulkan).signal();
    semaphore.in(cuda).wait();
  }),
  "a first kernel behind a wait": withSemaphore((semaphore, { vulkan, cuda }) => {
    using program = cuda.program(`extern "C" __global__ void first(unsigned* x) { x[threadIdx.x] = 7; }`);
    using first = program.kernel("first", ["unsigned*"]);
    using words = cuda.allocate(WORDS);
    fails("unsignalled", () => semaphore.in(cuda).wait(), AccessError);
    semaphore.in(vulkan).signal();
    semaphore.in(cuda).wait();
    first.run({ groups: [1], groupSize: [1024] }, [words]); // its loading blocks until the signal comes, which is under way
    const seen = new Uint32Array(1024);
    cuda.stream.read(words, seen);
    same("word", seen[1023], 7);
  }),
  "memory that two APIs would write": sharing(({ vulkan, cl, cuda, graph }) => {
    using words = vulkan.allocate(WORDS);
    using inCl = graph.map(words, cl);
    fails("CUDA too", () => graph.map(words, cuda), AccessError);
    fails("its owner", () => vulkan.queue.fill(words, 1), AccessError);
    fails("its handle", () => words.handle, AccessError);
    cl.queue.fill(inCl, 1);
  }),
  "memory that is mapped for reading, and written": sharing(({ vulkan, cl, cuda, graph }) => {
    using words = vulkan.allocate(WORDS);
    using inCl = graph.map(words, cl, { access: "read" });
    using inCuda = graph.map(words, cuda, { access: "read" });
    fails("OpenCL", () => cl.queue.fill(inCl, 1), AccessError);
    fails("CUDA", () => cuda.stream.fill(inCuda, 1), AccessError);
    fails("a kernel", () => {
      using program = cuda.program(`extern "C" __global__ void set(unsigned* x) { x[0] = 1; }`);
      program.kernel("set", ["unsigned*"]).run({ groups: [1], groupSize: [1] }, [inCuda]);
    }, AccessError);
  }),
  "a map that has ended": sharing(({ vulkan, cl, cuda, graph }) => {
    using words = vulkan.allocate(WORDS);
    const maps = [graph.map(words, cl, { access: "read" }), graph.map(words, cuda, { access: "read" })] as const;
    for (const map of maps) map[Symbol.dispose]();
    const seen = new Uint32Array(1024);
    fails("OpenCL", () => cl.queue.read(maps[0], seen), DisposedError);
    fails("CUDA", () => cuda.stream.read(maps[1] as CudaTensor, seen), DisposedError);
  }),
  "the end of memory that others have": sharing(({ vulkan, cl, cuda, graph }) => {
    const words = vulkan.allocate(WORDS);
    const inCl = graph.map(words, cl);
    cl.queue.fill(inCl, 3);
    words[Symbol.dispose](); // the map ends first, and its work before it
    fails("OpenCL", () => cl.queue.fill(inCl, 1), DisposedError);
    fails("a new map", () => graph.map(words, cuda), DisposedError);
  }),
  "the end of the exporter's context": sharing(({ cl, cuda }) => {
    const vulkan = VulkanContext.open({ uuid: cuda.id.uuid! });
    using graph = new MapperGraph([vulkan, cl, cuda]);
    const words = vulkan.allocate(WORDS);
    const inCuda = graph.map(words, cuda);
    cuda.stream.fill(inCuda, 3);
    vulkan[Symbol.dispose]();
    fails("CUDA", () => cuda.stream.fill(inCuda, 1), DisposedError);
    fails("a new map", () => graph.map(words, cl), DisposedError);
  }),
  "the end of the importer's context": sharing(({ vulkan, cuda }) => {
    const cl = openclOn(cuda.id.uuid!);
    using graph = new MapperGraph([vulkan, cl, cuda]);
    using words = vulkan.allocate(WORDS);
    const inCl = graph.map(words, cl);
    cl.queue.fill(inCl, 0x05050505);
    cl[Symbol.dispose]();
    fails("a new map", () => graph.map(words, cl));
    const seen = new Uint32Array(1024);
    vulkan.queue.read(words, seen);
    same("what OpenCL wrote", seen[1023], 0x05050505);
  }),
  "memory of another GPU": {
    gpus: 2,
    run() {
      using one = CudaContext.open({ ordinal: 0 });
      using other = CudaContext.open({ ordinal: 1 });
      using vulkan = VulkanContext.open({ uuid: one.id.uuid! });
      using cl = openclOn(other.id.uuid!);
      using graph = new MapperGraph([vulkan, cl, other]);
      using words = vulkan.allocate(WORDS);
      using image = vulkan.image(RGBA).allocate(PIXELS);
      for (const target of [cl, other, other.image(CUDA_RGBA), cl.image(CL_RGBA)]) {
        const source = target === cl || target === other ? words : image;
        const said = reasonsOf(fails(target.kind, () => graph.map(source, any(target)), NoRouteError));
        told(target.kind, said, new RegExp(one.id.uuid!));
        told(target.kind, said, new RegExp(other.id.uuid!));
      }
    },
  },
  "a context that is not in the graph": sharing(({ vulkan, cuda }) => {
    using graph = new MapperGraph([vulkan]);
    using words = vulkan.allocate(WORDS);
    fails("CUDA", () => graph.map(words, cuda), ArgumentError);
    fails("its images", () => graph.map(words, any(cuda.image(CUDA_RGBA))), ArgumentError);
  }),
  "virtual memory without an fd": sharing(({ cuda, cl, vulkan, graph }) => {
    using words = cuda.virtual.allocate({ ...WORDS, sharable: false });
    for (const target of [cl, vulkan]) {
      told(
        target.kind,
        reasonsOf(fails(target.kind, () => graph.map(words, any(target)), NoRouteError)),
        /without an fd/,
      );
    }
  }),
  "an fd that is closed before it is imported": sharing(({ cuda }) => {
    const libc = Deno.dlopen("libc.so.6", { close: { parameters: ["i32"], result: "i32" } }).symbols;
    using words = cuda.virtual.allocate(WORDS);
    const fd = cuda.virtual.exportFd(words);
    same("closed", libc.close(fd), 0);
    fails("import", () => cuda.virtual.import(fd, WORDS), ArgumentError);
    cuda.stream.fill(words, 1); // the memory is as it was
  }),
  "the fd of a file as memory": sharing(({ cuda }) => {
    const libc = Deno.dlopen("libc.so.6", {
      memfd_create: { parameters: ["buffer", "u32"], result: "i32" },
      close: { parameters: ["i32"], result: "i32" },
    }).symbols;
    const fd = libc.memfd_create(new Uint8Array(1), 0);
    fails("a memfd", () => cuda.virtual.import(fd, WORDS), NativeCallError);
    same("still the program's", libc.close(fd), 0);
  }),
  "memory that is longer than its exporter's": sharing(({ cuda }) => {
    const libc = Deno.dlopen("libc.so.6", { close: { parameters: ["i32"], result: "i32" } }).symbols;
    using words = cuda.virtual.allocate(WORDS);
    const fd = cuda.virtual.exportFd(words);
    fails("too long", () => cuda.virtual.import(fd, { shape: [1 << 30], dtype: "u32" }));
    libc.close(fd);
  }),
  "parts beyond the memory": sharing(({ vulkan, cuda, graph }) => {
    using words = vulkan.allocate(WORDS);
    using inCuda = graph.map(words, cuda);
    fails("longer", () => inCuda.slice({ shape: [1025], dtype: "u32" }), LayoutError);
    fails("behind", () => inCuda.slice({ shape: [1], dtype: "u32", byteOffset: 4096 }), LayoutError);
  }),
  "images whose pixels lie row by row": sharing(({ vulkan, cl, cuda, graph }) => {
    using image = vulkan.image(RGBA).allocate({ shape: [256, 256, 4], tiling: "linear", exportAs: "opaque-fd" });
    for (const target of [cl.image(CL_RGBA), cuda.image(CUDA_RGBA)]) {
      told(target.kind, reasonsOf(fails(target.kind, () => graph.map(image, any(target)), NoRouteError)), /row by row/);
    }
  }),
  "a buffer as an image, and an image as a buffer": sharing(({ vulkan, cl, cuda, graph }) => {
    using words = vulkan.allocate({ shape: [33, 70, 4], dtype: "u8" });
    using image = vulkan.image(RGBA).allocate(PIXELS);
    fails("to CUDA's images", () => graph.map(words, any(cuda.image(CUDA_RGBA))), NoRouteError);
    fails("to OpenCL's images", () => graph.map(words, any(cl.image(CL_RGBA))), NoRouteError);
    fails("to CUDA's memory", () => graph.map(image, any(cuda)), NoRouteError);
    fails("to OpenCL's buffers", () => graph.map(image, any(cl)), NoRouteError);
  }),
  "images of other formats": sharing(({ vulkan, cl, cuda, graph }) => {
    using image = vulkan.image("R8G8B8A8_UINT").allocate(PIXELS);
    fails("OpenCL", () => graph.map(image, cl.image(CL_RGBA)), NoRouteError);
    for (const format of [{ dtype: "u8" }, { dtype: "u16", channels: 4 }, { dtype: "i8", channels: 4 }] as const) {
      fails(JSON.stringify(format), () => graph.map(image, cuda.image(format)), NoRouteError);
    }
  }),
  "formats that CUDA has no images of": sharing(({ cuda }) => {
    const formats = [{}, { dtype: "u64" }, { dtype: "u8", channels: 3 }, { dtype: "u8", order: "RGBA" }, "u8", null];
    for (const format of formats) fails(JSON.stringify(format), () => cuda.image(any(format)), ArgumentError);
    const context = CudaContext.open();
    context[Symbol.dispose]();
    fails("of a context that has ended", () => context.image(CUDA_RGBA), DisposedError);
  }),
  "a frame as an image of CUDA's": sharing(({ vulkan, cuda, graph }) => {
    using frame = vulkan.allocateFrame(imageInfo({ format: "NV12", width: 64, height: 64 }));
    fails("frame", () => graph.map(frame, any(cuda.image({ dtype: "u8" }))), NoRouteError);
  }),
  "an image of CUDA's that may not be written": sharing(({ vulkan, cuda, graph }) => {
    using image = vulkan.image(RGBA).allocate(PIXELS);
    using pixels = cuda.allocate({ ...PIXELS, dtype: "u8" });
    using mapped = graph.map(image, cuda.image(CUDA_RGBA), { access: "read" });
    fails("a surface", () => mapped.array.surface(), AccessError);
    fails("a copy", () => cuda.stream.copy(pixels, mapped.array), AccessError);
    cuda.stream.copy(mapped.array, pixels);
    fails("a part", () => mapped.slice({ shape: [1, 1, 4], dtype: "u8" }), LayoutError);
    using _ = mapped.borrow("read");
  }),
  "an image of CUDA's that has ended": sharing(({ vulkan, cuda, graph }) => {
    using image = vulkan.image(RGBA).allocate(PIXELS);
    using pixels = cuda.allocate({ ...PIXELS, dtype: "u8" });
    const mapped = graph.map(image, cuda.image(CUDA_RGBA));
    const { array } = mapped;
    const [texture, surface] = [array.texture(), array.surface()];
    texture.usedBy(cuda.stream.fence());
    mapped[Symbol.dispose](); // with its textures and surfaces
    fails("the image", () => mapped.array, DisposedError);
    fails("the array", () => array.texture(), DisposedError);
    fails("the texture", () => texture.handle, DisposedError);
    fails("the surface", () => surface.usedBy(cuda.stream.fence()), DisposedError);
    fails("a copy", () => cuda.stream.copy(array, pixels), DisposedError);
  }),
  "an image of CUDA's in copies that do not fit": sharing(({ vulkan, cuda, graph }) => {
    using image = vulkan.image(RGBA).allocate(PIXELS);
    using other = CudaContext.open();
    using mapped = graph.map(image, cuda.image(CUDA_RGBA));
    using small = cuda.allocate({ shape: [3, 7, 4], dtype: "u8" });
    using elsewhere = other.allocate({ ...PIXELS, dtype: "u8" });
    fails("size", () => cuda.stream.copy(small, mapped.array), LayoutError);
    fails("another context", () => other.stream.copy(elsewhere, mapped.array), ArgumentError);
    fails("no array", () => cuda.stream.copy(small, any(mapped)), ArgumentError);
  }),
  "an image that two APIs would write": sharing(({ vulkan, cl, cuda, graph }) => {
    using image = vulkan.image(RGBA).allocate(PIXELS);
    using mapped = graph.map(image, cuda.image(CUDA_RGBA));
    fails("OpenCL too", () => graph.map(image, cl.image(CL_RGBA)), AccessError);
    fails("its owner", () => vulkan.queue.write(image, new Uint8Array(33 * 70 * 4)), AccessError);
    same("width", mapped.width, 70);
    same("layers", mapped.layers, undefined);
  }),
});
