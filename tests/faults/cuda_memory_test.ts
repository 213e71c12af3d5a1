/** Every native call that makes memory of CUDA's fails once, and every one that gives it back. */
import { assertNoneSwallowed, BYTES, SIZE, swept, test } from "./cuda.ts"; // first: it taps the libraries
import { InteropError } from "../../mod.ts";
import type { CudaContext } from "../../src/cuda/mod.ts";

/** How each kind of memory is made and given back, and the call that makes it. */
const KINDS: { readonly [kind: string]: readonly [call: string, make: (cuda: CudaContext) => Disposable] } = {
  "device memory": ["cudart.cudaMalloc", (cuda) => cuda.allocate(BYTES)],
  "device memory in rows": [
    "cudart.cudaMallocPitch",
    (cuda) => cuda.allocate({ shape: [48, 61], dtype: "u8", pitch: true }),
  ],
  "pinned memory": ["cudart.cudaHostAlloc", (cuda) => cuda.pinned.allocate(BYTES)],
  "pinned memory without flags": [
    "cudart.cudaMallocHost",
    (cuda) => cuda.pinned.allocate({ ...BYTES, portable: false, mapped: false }),
  ],
  "managed memory": ["cudart.cudaMallocManaged", (cuda) => cuda.managed.allocate(BYTES)],
  "virtual memory of the device": ["cuda.cuMemCreate", (cuda) => cuda.virtual.allocate(BYTES)],
  "a pool of pinned memory": ["cudart.cudaHostAlloc", (cuda) => cuda.pinned.pool({ byteLength: SIZE, count: 3 })],
  "a pool of device memory": ["cudart.cudaMemPoolCreate", (cuda) => cuda.createPool({ releaseThreshold: 1 << 20 })],
  "an array": ["cudart.cudaMalloc3DArray", (cuda) => cuda.array({ width: 64, height: 48, dtype: "f32" })],
  "a stream": ["cudart.cudaStreamCreateWithPriority", (cuda) => cuda.createStream()],
  "a timer": ["cudart.cudaEventCreateWithFlags", (cuda) => cuda.timer()],
};

for (const [kind, [call, make]] of Object.entries(KINDS)) {
  test(`${kind}, made and given back`, async (cuda) => {
    assertNoneSwallowed(await swept(() => make(cuda)[Symbol.dispose](), [call]));
  });
}

test("virtual memory of the host, made and given back", async (cuda) => {
  const make = () => cuda.virtual.allocate({ ...BYTES, location: "host" })[Symbol.dispose]();
  try {
    make();
  } catch (error) {
    if (error instanceof InteropError) return; // the system has none: the memory's own tests say so
    throw error;
  }
  assertNoneSwallowed(await swept(make, ["cuda.cuMemCreate", "cuda.cuMemSetAccess"]));
});

test("memory in the order of a stream", async (cuda) => {
  const pool = cuda.createPool();
  await swept(() => {
    using tensor = cuda.stream.allocate(BYTES);
    cuda.stream.fill(tensor, 1);
    using other = cuda.stream.allocate(BYTES, { pool });
    cuda.stream.fill(other, 2);
  }, [
    "cudart.cudaMallocAsync",
    "cudart.cudaMallocFromPoolAsync",
    "cudart.cudaFreeAsync",
    "cudart.cudaMemset2DAsync",
  ], () => cuda.stream.finish());
  pool[Symbol.dispose]();
});

test("tensors of a pool of pinned memory", async (cuda) => {
  const pool = cuda.pinned.pool({ byteLength: SIZE });
  await swept(
    () => {
      {
        using tensor = pool.take({ shape: [2 * SIZE], dtype: "u8" });
        cuda.stream.fill(tensor, 1);
      }
      pool.trim();
    },
    ["cudart.cudaMemset2DAsync"],
    () => {
      cuda.stream.finish();
      pool.trim();
    },
  );
  pool[Symbol.dispose]();
});

test("an array's textures and surfaces, and copies to and from it", async (cuda) => {
  const init = { width: 64, height: 48, dtype: "f32" } as const;
  using tensor = cuda.allocate({ shape: [48, 64], dtype: "f32" });
  await swept(() => {
    using array = cuda.array(init);
    using _texture = array.texture();
    using _surface = array.surface();
    cuda.stream.copy(tensor, array);
    cuda.stream.copy(array, tensor);
  }, [
    "cudart.cudaCreateTextureObject",
    "cudart.cudaCreateSurfaceObject",
    "cudart.cudaMemcpy3DAsync",
    "cudart.cudaFreeArray",
  ], () => cuda.stream.finish());
});

test("what a pool of device memory holds, and its trim", async (cuda) => {
  const pool = cuda.createPool({ releaseThreshold: 1 << 20 });
  const faults = await swept(() => {
    pool.statistics;
    pool.trim();
  }, ["cudart.cudaMemPoolGetAttribute", "cudart.cudaMemPoolTrimTo"]);
  assertNoneSwallowed(faults);
  pool[Symbol.dispose]();
});
