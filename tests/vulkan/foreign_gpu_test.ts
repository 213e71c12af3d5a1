/**
 * Other code's memory, images and semaphores by their fds on a GPU: it and OpenCL, CUDA or another Vulkan device take turns
 * on the same words, ordered by the semaphores alone, and each lap's words are kept and compared. The other code is a C
 * program, where there is a compiler; and samepage's own Vulkan by the fds of `Semaphore.exportFd()`.
 */
import { assertEquals } from "@std/assert";
import { Semaphore, type Tensor } from "@samepage/interop";
import type { ForeignSemaphore, ImportSemaphoreOptions, MemoryImport } from "@samepage/interop/backend";
import type { LayoutInit } from "@samepage/interop";
import { closeFd } from "../../src/core/native/fd.ts";
import { ForeignVulkan, lackingForeign } from "./foreign/mod.ts";
import { type Gpu, gpus, sharingTest } from "./gpu.ts";

/** The sanitizer runs fewer, where each takes long. */
const LAPS = Math.min(50, Number(Deno.env.get("SAMEPAGE_RING_LAPS") ?? 50));
const WORDS = 1 << 18;
const [WIDTH, HEIGHT] = [70, 33];

/** What the tests use of a context in each API. */
interface Api {
  importMemory(fd: number, init: MemoryImport): Tensor;
  importSemaphore(fd: number, options: ImportSemaphoreOptions): ForeignSemaphore;
  allocate(init: LayoutInit): Tensor;
  [Symbol.dispose](): void;
}

/** What they use of its queue. */
interface Queue {
  copy(from: unknown, to: unknown): void;
  read(from: unknown, into: ArrayBufferView): void;
}

type Kind = "binary" | "timeline";

/** The other code: its memory, its semaphores, and a lap of its work. */
interface Other extends Disposable {
  readonly memory: number;
  readonly made: { readonly size: number; readonly type: number; readonly uuid: string };
  /** That it signals, and that it waits for; one timeline is both. */
  readonly semaphores: readonly number[];
  /** Fills the words with `lap + 1`, between a wait but in the first lap, and a signal. */
  fill(lap: number): void;
}

const APIS: readonly (readonly [name: string, kind: Kind, open: (gpu: Gpu) => Api])[] = [
  ["OpenCL", "binary", (gpu) => gpu.opencl() as unknown as Api],
  ["CUDA", "binary", (gpu) => gpu.cuda() as unknown as Api],
  ["CUDA", "timeline", (gpu) => gpu.cuda() as unknown as Api],
  ["Vulkan", "binary", (gpu) => gpu.vulkan() as unknown as Api],
  ["Vulkan", "timeline", (gpu) => gpu.vulkan() as unknown as Api],
];

function queueOf(api: Api): Queue {
  const { queue, stream } = api as unknown as { readonly queue?: Queue; readonly stream?: Queue };
  return queue ?? stream!;
}

function takeTurns(what: string, api: Api, kind: Kind, other: Other): void {
  using made = new DisposableStack();
  const words = made.use(api.importMemory(other.memory, { shape: [WORDS], dtype: "u32", ...other.made }));
  const [ready, free = ready] = other.semaphores.map((fd) => made.use(api.importSemaphore(fd, { kind })));
  for (const fd of [other.memory, ...other.semaphores]) closeFd(fd); // ours all the time
  const rows = made.use(api.allocate({ shape: [LAPS, WORDS], dtype: "u32" }));
  const parts = Array.from({ length: LAPS }, (_, lap) => {
    return rows.slice({ shape: [WORDS], dtype: "u32", byteOffset: 4 * WORDS * lap });
  });
  const queue = queueOf(api);
  for (const [lap, row] of parts.entries()) {
    other.fill(lap);
    const [there, back] = kind === "timeline" ? [BigInt(2 * lap + 1), BigInt(2 * lap + 2)] : [];
    ready.wait(there);
    queue.copy(words, row);
    free.signal(back);
  }
  for (const row of parts) row[Symbol.dispose](); // which waits for its copy
  const seen = new Uint32Array(LAPS * WORDS);
  queue.read(rows, seen);
  const wrong = seen.reduce((count, word, i) => count + Number(word !== 1 + Math.floor(i / WORDS)), 0);
  const first = seen.findIndex((word, i) => word !== 1 + Math.floor(i / WORDS));
  const where = first < 0
    ? ""
    : `; the first is ${seen[first]} in lap ${Math.floor(first / WORDS)}, word ${first % WORDS}`;
  assertEquals(wrong, 0, `${what}: ${wrong} of ${seen.length} words are wrong${where}`);
}

/** The C program. */
function inC(gpu: Gpu, kind: Kind): Other {
  const theirs = new ForeignVulkan(gpu.uuid);
  const memory = theirs.buffer(4 * WORDS);
  const count = kind === "timeline" ? 1 : 2;
  return {
    memory,
    made: theirs.made,
    semaphores: Array.from({ length: count }, () => theirs.semaphore(kind)),
    fill(lap) {
      const [semaphore, value] = [count - 1, BigInt(2 * lap)];
      theirs.fill(lap + 1, {
        ...(lap === 0 ? {} : { waits: { semaphore, value } }),
        signals: { semaphore: 0, value: value + 1n },
      });
    },
    [Symbol.dispose]: () => theirs[Symbol.dispose](),
  };
}

/** samepage's Vulkan, as other code has it. */
function bySamepage(gpu: Gpu, kind: Kind): Other {
  const made = new DisposableStack();
  const vulkan = made.use(gpu.vulkan());
  const words = made.use(vulkan.allocate({ shape: [WORDS], dtype: "u32", exportAs: "opaque-fd" }));
  const { size, type, dedicated } = words.handle.info!;
  const semaphores = Array.from({ length: kind === "timeline" ? 1 : 2 }, () => {
    using semaphore = Semaphore.create(vulkan, { kind });
    return semaphore.exportFd();
  });
  const [ready, free = ready] = semaphores.map((fd) => made.use(vulkan.importSemaphore(fd, { kind })));
  const about = { size, type: type.index, dedicated, uuid: gpu.uuid };
  return {
    memory: words.handle.exportFd("opaque-fd"),
    made: about,
    semaphores,
    fill(lap) {
      const [before, after] = kind === "timeline" ? [BigInt(2 * lap), BigInt(2 * lap + 1)] : [];
      if (lap > 0) free.wait(before);
      vulkan.queue.fill(words, lap + 1);
      ready.signal(after);
    },
    [Symbol.dispose]: () => made.dispose(),
  };
}

const noC = gpus.length === 0 ? undefined : await lackingForeign();

function foreignTest(name: string, run: () => void): void {
  if (noC === undefined) return sharingTest(name, run);
  Deno.test({ name: `vulkan: ${name} (not here: ${noC})`, ignore: true, fn: run });
}

for (const [name, kind, open] of APIS) {
  foreignTest(`a C program and ${name} take turns by ${kind} semaphores by their fds`, () => {
    using api = open(gpus[0]);
    using other = inC(gpus[0], kind);
    takeTurns(`the C program and ${name}, ${kind}`, api, kind, other);
  });
  sharingTest(`Vulkan and ${name} take turns by the fds of exported ${kind} semaphores`, () => {
    using api = open(gpus[0]);
    using other = bySamepage(gpus[0], kind);
    takeTurns(`Vulkan and ${name}, ${kind}`, api, kind, other);
  });
}

foreignTest("a C program's image is one in OpenCL, CUDA and another Vulkan device", () => {
  using theirs = new ForeignVulkan(gpus[0].uuid);
  const fd = theirs.image(WIDTH, HEIGHT);
  const init = { shape: [HEIGHT, WIDTH, 4], ...theirs.made, dedicated: true };
  using cl = gpus[0].opencl();
  using cuda = gpus[0].cuda();
  using vulkan = gpus[0].vulkan();
  using inCl = cl.image({ order: "RGBA", type: "UNORM_INT8" }).importMemory(fd, init);
  using inCuda = cuda.image({ dtype: "u8", channels: 4 }).importMemory(fd, init);
  using inVulkan = vulkan.image("R8G8B8A8_UNORM").importMemory(fd, init);
  closeFd(fd);
  using dense = cuda.allocate({ shape: [HEIGHT, WIDTH, 4], dtype: "u8" });
  for (const value of [77, 200]) {
    theirs.fill(value); // the host waits for it
    const seen = {
      OpenCL: new Uint8Array(HEIGHT * WIDTH * 4),
      CUDA: new Uint8Array(HEIGHT * WIDTH * 4),
      Vulkan: new Uint8Array(HEIGHT * WIDTH * 4),
    };
    cl.queue.read(inCl, seen.OpenCL);
    cuda.stream.copy(inCuda.array, dense);
    cuda.stream.read(dense, seen.CUDA);
    vulkan.queue.read(inVulkan, seen.Vulkan);
    const wrong = Object.entries(seen).map(([name, pixels]) => [name, pixels.filter((byte) => byte !== value).length]);
    assertEquals(wrong, [["OpenCL", 0], ["CUDA", 0], ["Vulkan", 0]], `wrong bytes of ${value}, by API`);
  }
});

sharingTest("several semaphores are one call on a GPU, in OpenCL and CUDA", () => {
  using vulkan = gpus[0].vulkan();
  using cl = gpus[0].opencl();
  using cuda = gpus[0].cuda();
  const fds = Array.from({ length: 6 }, () => {
    using semaphore = Semaphore.create(vulkan);
    return semaphore.exportFd();
  });
  using made = new DisposableStack();
  const inCl = fds.map((fd) => made.use(cl.importSemaphore(fd)));
  const inCuda = fds.map((fd) => made.use(cuda.importSemaphore(fd)));
  for (const fd of fds) closeFd(fd);
  // Each has one direction: where one went both ways, an H200 hung after some laps.
  for (let lap = 0; lap < LAPS; lap++) {
    cl.queue.signalSemaphores(inCl.slice(0, 3));
    cuda.stream.waitSemaphores(inCuda.slice(0, 3));
    cuda.stream.signalSemaphores(inCuda.slice(3));
    cl.queue.waitSemaphores(inCl.slice(3));
  }
  cuda.stream.finish();
  cl.queue.finish();
});
