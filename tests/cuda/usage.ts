import { assertThrows } from "@std/assert";
import { AccessError, ArgumentError, host, InteropError, MapperGraph } from "@samepage/interop";
import { CudaContext } from "@samepage/interop/cuda";

const BYTES = { shape: [4096], dtype: "u8" } as const;
const ADD = `extern "C" __global__ void add(unsigned char* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }`;

/** What a program does with a device, and what fails. */
export const OPERATIONS: { readonly [name: string]: (cuda: CudaContext) => unknown } = {
  "open and dispose": ({ device }) => CudaContext.open({ ordinal: device.ordinal })[Symbol.dispose](),
  "open, refused": ({ device: { ordinal } }) => {
    assertThrows(() => CudaContext.open({ ordinal, schedule: "yield" }), ArgumentError);
  },
  "flags, memory": (cuda) => [cuda.flags, cuda.memory()],
  "too much memory": (cuda) => {
    for (const kind of [cuda, cuda.pinned]) {
      assertThrows(() => kind.allocate({ shape: [2 ** 47], dtype: "u8" }), InteropError);
    }
  },
  "memory of every kind": (cuda) => {
    for (const kind of [cuda, cuda.pinned, cuda.managed, cuda.virtual]) kind.allocate(BYTES)[Symbol.dispose]();
    cuda.allocate({ shape: [16, 33], dtype: "u8", pitch: true })[Symbol.dispose]();
    cuda.stream.allocate(BYTES)[Symbol.dispose]();
  },
  "pools": (cuda) => {
    using pool = cuda.createPool({ releaseThreshold: 1 << 20 });
    cuda.stream.allocate(BYTES, { pool })[Symbol.dispose]();
    using pinned = cuda.pinned.pool({ byteLength: 4096, count: 2 });
    pinned.take(BYTES)[Symbol.dispose]();
  },
  "arrays": (cuda) => {
    using array = cuda.array({ width: 64, height: 64, dtype: "u8" });
    array.texture()[Symbol.dispose]();
    array.surface()[Symbol.dispose]();
    using tensor = cuda.allocate({ shape: [64, 64], dtype: "u8" });
    cuda.stream.copy(tensor, array);
    cuda.stream.finish();
  },
  "streams, events, timers": (cuda) => {
    using stream = cuda.createStream();
    const fence = stream.fence();
    cuda.stream.waitFor(fence);
    fence.waitSync();
    using again = cuda.attachStream(stream.handle);
    using legacy = cuda.attachStream(1n);
    legacy.finish();
    again.finish();
    using timer = cuda.timer();
    timer.start();
    timer.stop();
    cuda.stream.finish();
    timer.milliseconds();
    using event = cuda.exportEvent();
    event.record();
  },
  "transfers": (cuda) => {
    using x = cuda.allocate(BYTES);
    using y = cuda.allocate(BYTES);
    const { stream } = cuda;
    stream.write(x, new Uint8Array(4096));
    stream.copy(x, y);
    stream.fill(x, 1);
    stream.read(y, new Uint8Array(4096));
    cuda.exportMemory(x);
  },
  "programs and kernels": (cuda) => {
    using program = cuda.program(ADD);
    using x = cuda.allocate(BYTES);
    const add = program.kernel("add", ["unsigned char*"]);
    add.run({ groups: [16], groupSize: [256] }, [x]);
    assertThrows(() => add.run({ groups: [16], groupSize: [4096] }, [x]), InteropError);
    assertThrows(() => cuda.program("no program"), InteropError);
    assertThrows(() => program.kernel("none", []), InteropError);
    cuda.stream.finish();
  },
  "memory that is gone": (cuda) => {
    using x = cuda.pinned.allocate(BYTES);
    x[Symbol.dispose]();
    assertThrows(() => cuda.stream.fill(x, 1), InteropError);
  },
  "maps": (cuda) => {
    using graph = new MapperGraph([host, cuda]);
    using source = host.allocate(BYTES);
    using pinned = cuda.pinned.allocate(BYTES);
    {
      using mapped = graph.map(source, cuda);
      cuda.stream.fill(mapped, 1);
      assertThrows(() => source.view(), AccessError);
    }
    graph.map(pinned, host)[Symbol.dispose]();
    using _kept = cuda.register(source);
    graph.map(source, cuda)[Symbol.dispose]();
  },
  "what is awaited": async (cuda) => {
    using x = cuda.allocate(BYTES);
    cuda.stream.fill(x, 1);
    await cuda.stream.finished();
    await cuda.createStream()[Symbol.asyncDispose]();
  },
};
