/** Pools, arrays, textures and surfaces that a program forgets: the garbage collector ends them, and warns. */
import { assertEquals, assertMatch } from "@std/assert";
import * as constants from "../../ffi/cuda_runtime/constants.ts";
import { mapBlock, type MappedBlock, PAGE } from "../../src/core/native/blocks.ts";
import { type CudaArray, CudaContext } from "../../src/cuda/mod.ts";
import { collect } from "../gc.ts";
import { warningsOf } from "../warnings.ts";
import type { Fakes } from "./kernels/recording.ts";
import { recordedTests } from "./recorded.ts";

const INIT = { shape: [1024], dtype: "u8" } as const;
const ARRAY = { width: 8, height: 8, dtype: "u8" } as const;

const ATTRIBUTES = new Map<number, number>([
  [constants.cudaDevAttrUnifiedAddressing, 1],
  [constants.cudaDevAttrCanMapHostMemory, 1],
  [constants.cudaDevAttrMemoryPoolsSupported, 1],
  [constants.cudaDevAttrMaxTexture2DWidth, 1024],
  [constants.cudaDevAttrMaxTexture2DHeight, 1024],
  [constants.cudaDevAttrMaxSurface2DWidth, 1024],
  [constants.cudaDevAttrMaxSurface2DHeight, 1024],
]);

/** The releases, in order. */
const released: string[] = [];
const blocks = new Map<bigint, MappedBlock>();
let next = 0x4000_0000n;

const made = (out: BigUint64Array) => (out[0] = next += 0x10_000n, 0);
const release = (name: string) => () => (released.push(name), 0);

const over = recordedTests({
  cudaDeviceGetAttribute: (value: Int32Array, attribute: number) => (value[0] = ATTRIBUTES.get(attribute) ?? 0, 0),
  cudaEventQuery: () => 0,
  cudaMallocFromPoolAsync: made,
  cudaFreeAsync: release("cudaFreeAsync"),
  cudaMemPoolCreate: made,
  cudaMemPoolDestroy: release("cudaMemPoolDestroy"),
  cudaHostAlloc(out: BigUint64Array, byteLength: bigint) {
    const block = mapBlock({ byteLength: Number(byteLength), align: PAGE, sharable: false, guard: false });
    blocks.set(out[0] = block.address, block);
    return 0;
  },
  cudaHostGetDevicePointer: (out: BigUint64Array, address: bigint) => (out[0] = address, 0),
  cudaFreeHost(address: bigint) {
    blocks.get(address)!.free("unused");
    return release("cudaFreeHost")();
  },
  cudaMalloc3DArray: made,
  cudaFreeArray: release("cudaFreeArray"),
  cudaCreateTextureObject: made,
  cudaDestroyTextureObject: release("cudaDestroyTextureObject"),
  cudaCreateSurfaceObject: made,
  cudaDestroySurfaceObject: release("cudaDestroySurfaceObject"),
} as unknown as Fakes);

/** What is made, how a warning names it, and what releases it. */
const MADE: readonly (readonly [string, (cuda: CudaContext) => Disposable, release: string])[] = [
  ["cuda memory pool (Recorder)", (cuda) => cuda.createPool(), "cudaMemPoolDestroy"],
  ["cuda pinned pool (Recorder)", (cuda) => cuda.pinned.pool({ byteLength: PAGE }), "cudaFreeHost"],
  ["cuda array [8,8,1] u8", (cuda) => cuda.array(ARRAY), "cudaFreeArray"],
];

/** What is made of an array. */
const OF_ARRAY: readonly (readonly [string, (array: CudaArray) => Disposable, release: string])[] = [
  ["cudaTextureObject_t of cuda array [8,8,1] u8", (array) => array.texture(), "cudaDestroyTextureObject"],
  ["cudaSurfaceObject_t of cuda array [8,8,1] u8", (array) => array.surface(), "cudaDestroySurfaceObject"],
];

over("pools, arrays, textures and surfaces that a program forgets are released, each with a warning", async () => {
  using cuda = CudaContext.open();
  using array = cuda.array(ARRAY);
  released.length = 0;
  const warnings = await warningsOf(async () => {
    (() => {
      for (const [, make] of MADE) make(cuda);
      for (const [, make] of OF_ARRAY) make(array);
    })();
    await collect();
  });
  const all = [...MADE, ...OF_ARRAY];
  const warning = (name: string) =>
    `samepage: ${name} was never disposed; it is now, by the garbage collector. Use \`using\` or dispose it. ` +
    "SAMEPAGE_TRACE_FORGOTTEN=1 says where it was made.";
  assertEquals(warnings.toSorted(), all.map(([name]) => warning(name)).toSorted());
  assertEquals(released.toSorted(), all.map(([, , release]) => release).toSorted());
  array.usable("write");
});

over("pools, arrays, textures and surfaces that are disposed warn of nothing", async () => {
  using cuda = CudaContext.open();
  using array = cuda.array(ARRAY);
  const warnings = await warningsOf(async () => {
    (() => {
      for (const [, make] of MADE) make(cuda)[Symbol.dispose]();
      for (const [, make] of OF_ARRAY) make(array)[Symbol.dispose]();
    })();
    await collect();
  });
  assertEquals(warnings, []);
});

over("an array lives for as long as a texture of it", async () => {
  using cuda = CudaContext.open();
  using texture = (() => cuda.array(ARRAY).texture())();
  released.length = 0;
  const warnings = await warningsOf(() => collect());
  assertEquals([warnings, released, texture.handle > 0n], [[], [], true]);
  texture.array[Symbol.dispose]();
});

for (const kind of ["createPool()", "pinned.pool()"] as const) {
  over(`${kind} that is forgotten lives for as long as a tensor of it, or a part of that`, async () => {
    using cuda = CudaContext.open();
    const take = () =>
      kind === "createPool()"
        ? cuda.stream.allocate(INIT, { pool: cuda.createPool() })
        : cuda.pinned.pool({ byteLength: PAGE }).take(INIT);
    released.length = 0;
    const warnings = await warningsOf(async () => {
      const parts = (() => [take().slice({ shape: [16], dtype: "u8" })])();
      await collect();
      assertEquals(released, [], "while a part is there");
      parts[0].assertUsable("write");
      parts[0].parent![Symbol.dispose]();
      parts.length = 0;
      await collect();
    });
    assertEquals(warnings.length, 1, warnings.join("\n"));
    assertMatch(warnings[0], /^samepage: cuda (memory|pinned) pool/);
    assertEquals(released.at(-1), kind === "createPool()" ? "cudaMemPoolDestroy" : "cudaFreeHost");
  });
}
