/** The thread's current context is after each operation what it was before: none, the device's own, or another's. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, ArgumentError, host, InteropError, MapperGraph } from "@samepage/interop";
import { CudaContext } from "@samepage/interop/cuda";
import { addressOf } from "../../src/core/native/pin.ts";
import { cudaDriver } from "../../src/cuda/library.ts";
import { gpuTest, withCuda } from "./help.ts";

const BYTES = { shape: [4096], dtype: "u8" } as const;
const ADD = `extern "C" __global__ void add(unsigned char* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }`;

/** The thread's, by cuCtxGetCurrent itself: 0 where it has none. */
function current(): bigint {
  const out = new BigUint64Array(1);
  assertEquals(cudaDriver().cuCtxGetCurrent(addressOf(out, "cuda")), 0);
  return out[0];
}

function setCurrent(context: bigint): void {
  assertEquals(cudaDriver().cuCtxSetCurrent(context as never), 0);
}

/** What a program does, and what fails. */
const OPERATIONS: { readonly [name: string]: (cuda: CudaContext) => unknown } = {
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
    cuda.stream.copyToArray(tensor, array);
    cuda.stream.finish();
  },
  "streams, events, timers": (cuda) => {
    using stream = cuda.createStream();
    using fence = stream.fence();
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
    event.record()[Symbol.dispose]();
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
    add.run({ grid: [16], block: [256] }, [x]);
    assertThrows(() => add.run({ grid: [16], block: [4096] }, [x]), InteropError);
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

/** Every operation, begun with a context current, or with none where that is 0. */
async function unchanged(cuda: CudaContext, before: bigint, allowed: readonly bigint[] = [before]): Promise<void> {
  const own = current();
  try {
    for (const [name, operation] of Object.entries(OPERATIONS)) {
      setCurrent(before);
      await operation(cuda);
      assert(allowed.includes(current()), `${name}: 0x${current().toString(16)} after 0x${before.toString(16)}`);
    }
  } finally {
    setCurrent(own);
  }
}

gpuTest(
  "the current context is as it was: the device's own, or none, be it that a call throws",
  () =>
    withCuda(async (cuda) => {
      const own = cuda.within(current);
      await unchanged(cuda, own);
      // A thread that has none keeps that of device 0, as after any first call of libcudart's.
      await unchanged(cuda, 0n, [0n, own]);
    }),
);

gpuTest("the current context is as it was: of another device, or none", async () => {
  await withCuda(async (first) => {
    await using second = CudaContext.open({ ordinal: 1 });
    const [one, two] = [first, second].map((cuda) => cuda.within(current));
    assert(one !== two);
    await unchanged(first, two);
    await unchanged(second, one);
    await unchanged(second, two);
    await unchanged(second, 0n);
  });
}, 2);
