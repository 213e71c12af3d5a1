import { assert, assertEquals, assertThrows } from "@std/assert";
import { host, ledger, MapperGraph } from "../../mod.ts";
import * as constants from "../../ffi/cuda_runtime/constants.ts";
import { cudaErrorMemoryAllocation, cudaErrorNotReady } from "../../ffi/cuda_runtime/errors.ts";
import { readCudaMemcpy3DParms } from "../../ffi/cuda_runtime/structs.ts";
import { mapBlock, PAGE } from "../../src/core/native/blocks.ts";
import { AccessError, ArgumentError, DisposedError, NativeCallError } from "../../src/core/errors.ts";
import { CudaContext } from "../../src/cuda/mod.ts";
import { OpenCVContext } from "../../src/opencv/mod.ts";
import { setAdvice } from "../../src/cuda/memory/managed_advice.ts";
import type { HostTensor } from "../../src/host/tensor.ts";
import { present } from "../opencv/help.ts";
import type { Fakes } from "./kernels/recording.ts";
import { recordedTests } from "./recorded.ts";

const INIT = { shape: [1024], dtype: "u8" } as const;

/** What the recorded device is: one that moves no managed memory while the CPU uses it, with memory pools. */
const ATTRIBUTES = new Map<number, number>([
  [constants.cudaDevAttrUnifiedAddressing, 1],
  [constants.cudaDevAttrManagedMemory, 1],
  [constants.cudaDevAttrConcurrentManagedAccess, 0],
  [constants.cudaDevAttrIntegrated, 1],
  [constants.cudaDevAttrMemoryPoolsSupported, 1],
  [constants.cudaDevAttrMaxTexture2DWidth, 1024],
  [constants.cudaDevAttrMaxTexture2DHeight, 1024],
  [constants.cudaDevAttrMaxSurface2DWidth, 1024],
  [constants.cudaDevAttrMaxSurface2DHeight, 1024],
]);

/** What is recorded of each call that matters here. */
const told: string[] = [];
/** How far the device has come: are events reached? */
let idle = true;
/** The next call of this name fails. */
let failing: string | undefined;
let next = 0x4000_0000n;
const copies: Uint8Array<ArrayBuffer>[] = [];
/** Where memory of another process is opened. */
const opened = { address: 0x5000_0000n, byteLength: 4096 };

function answered(name: string, out: BigUint64Array, value: bigint): number {
  told.push(name);
  if (failing === name) return cudaErrorMemoryAllocation;
  out[0] = value;
  return 0;
}

function plain(name: string): () => number {
  return () => {
    told.push(name);
    return failing === name ? cudaErrorMemoryAllocation : 0;
  };
}

const FAKES: Fakes = {
  cudaDeviceGetAttribute: (value: Int32Array, attribute: number) => {
    value[0] = ATTRIBUTES.get(attribute) ?? 0;
    return 0;
  },
  cudaEventQuery: () => idle ? 0 : cudaErrorNotReady,
  cudaEventSynchronize: () => {
    idle = true;
    return 0;
  },
  cudaStreamWaitEvent: plain("cudaStreamWaitEvent"),
  cudaStreamDestroy: plain("cudaStreamDestroy"),
  cudaFree: plain("cudaFree"),
  // What was given back last is given out first, as a pool does.
  cudaMallocAsync: (out: BigUint64Array) => answered("cudaMallocAsync", out, next),
  cudaMallocFromPoolAsync: (out: BigUint64Array) => answered("cudaMallocFromPoolAsync", out, next += 0x10_000n),
  cudaFreeAsync: plain("cudaFreeAsync"),
  cudaMemPoolCreate: (out: BigUint64Array) => answered("cudaMemPoolCreate", out, 0x77n),
  cudaMemPoolSetAttribute: plain("cudaMemPoolSetAttribute"),
  cudaMemPoolDestroy: plain("cudaMemPoolDestroy"),
  cudaMallocPitch: (out: BigUint64Array, pitch: BigUint64Array, width: bigint) => {
    pitch[0] = (width + 511n) / 512n * 512n;
    return answered("cudaMallocPitch", out, next += 0x10_0000n);
  },
  cudaMalloc3DArray: (out: BigUint64Array) => answered("cudaMalloc3DArray", out, 0x55n),
  cudaFreeArray: plain("cudaFreeArray"),
  cudaCreateTextureObject: (out: BigUint64Array) => answered("cudaCreateTextureObject", out, 0x66n),
  cudaDestroyTextureObject: plain("cudaDestroyTextureObject"),
  cudaCreateSurfaceObject: (out: BigUint64Array) => answered("cudaCreateSurfaceObject", out, 0x67n),
  cudaDestroySurfaceObject: plain("cudaDestroySurfaceObject"),
  cudaMemcpy3DAsync: (parameters: Uint8Array<ArrayBuffer>) => {
    copies.push(parameters.slice());
    return 0;
  },
  cudaMallocManaged: (out: BigUint64Array) => {
    const block = mapBlock({ byteLength: PAGE, align: PAGE, sharable: false, guard: false });
    return answered("cudaMallocManaged", out, block.address);
  },
  cudaIpcOpenMemHandle: (out: BigUint64Array) => answered("cudaIpcOpenMemHandle", out, opened.address),
  cudaIpcCloseMemHandle: plain("cudaIpcCloseMemHandle"),
  cuMemGetAddressRange_v2: (base: BigUint64Array, size: BigUint64Array, address: bigint) => {
    [base[0], size[0]] = [address, BigInt(opened.byteLength)];
    return 0;
  },
  cudaMemset2DAsync: plain("cudaMemset2DAsync"),
  cudaStreamAttachMemAsync: plain("cudaStreamAttachMemAsync"),
} as Record<string, (...args: never[]) => number>;

const over = recordedTests(FAKES);

function recordedTest(name: string, run: (cuda: CudaContext) => void | Promise<void>, lacks?: string): void {
  const fn = async () => {
    [idle, failing] = [true, undefined];
    await using cuda = CudaContext.open();
    told.length = copies.length = 0;
    await run(cuda);
    [idle, failing] = [true, undefined];
  };
  over(name, fn, undefined, lacks);
}

recordedTest("memory goes back in its stream's order, behind the work of others", (cuda) => {
  using other = cuda.createStream();
  {
    using tensor = cuda.stream.allocate(INIT);
    idle = false;
    other.fill(tensor, 1);
    assertEquals(told, ["cudaMallocAsync", "cudaStreamWaitEvent", "cudaMemset2DAsync"]);
    told.length = 0;
  }
  assertEquals(told, ["cudaStreamWaitEvent", "cudaFreeAsync"]);
});

recordedTest("the next allocation may have an address that is still on its way back", async (cuda) => {
  const first = cuda.stream.allocate(INIT);
  cuda.stream.fill(first, 1);
  idle = false;
  first.disposeAfter(cuda.stream.fence());
  assertEquals(told.at(-1), "cudaFreeAsync");
  const second = cuda.stream.allocate(INIT);
  assertEquals(second.address, first.rawHandle);
  assertEquals(first.resource.state, "returning");
  idle = true;
  second[Symbol.dispose]();
  while (first.resource.state !== "freed") await new Promise((go) => setTimeout(go, 1));
});

recordedTest("where memory cannot go back in order, it is freed all the same", (cuda) => {
  using other = cuda.createStream();
  const tensor = cuda.stream.allocate(INIT);
  idle = false;
  other.fill(tensor, 1);
  failing = "cudaStreamWaitEvent";
  told.length = 0;
  assertThrows(() => tensor[Symbol.dispose](), NativeCallError);
  assertEquals(told, ["cudaStreamWaitEvent", "cudaFree"]);
});

recordedTest("what fails leaves nothing behind", (cuda) => {
  for (
    const [name, make] of [
      ["cudaMallocAsync", () => cuda.stream.allocate(INIT)],
      ["cudaMemPoolCreate", () => cuda.createPool()],
      ["cudaMemPoolSetAttribute", () => cuda.createPool({ releaseThreshold: 1 })],
      ["cudaMallocPitch", () => cuda.allocate({ shape: [4, 4], dtype: "u8", pitch: true })],
      ["cudaMalloc3DArray", () => cuda.array({ width: 8, height: 8, dtype: "u8" })],
    ] as const
  ) {
    failing = name;
    const before = ledger.alive;
    assertThrows(make, NativeCallError, name);
    assertEquals(ledger.alive, before, name);
  }
  failing = undefined;
  using array = cuda.array({ width: 8, height: 8, dtype: "u8" });
  const before = ledger.alive;
  failing = "cudaCreateTextureObject";
  assertThrows(() => array.texture(), NativeCallError);
  failing = "cudaCreateSurfaceObject";
  assertThrows(() => array.surface(), NativeCallError);
  assertEquals(ledger.alive, before);
});

recordedTest("a pool ends after what came of it, a stream too, an array after its textures", (cuda) => {
  const pool = cuda.createPool();
  const stream = cuda.createStream();
  stream.allocate(INIT, { pool });
  pool[Symbol.dispose]();
  stream.allocate(INIT);
  stream[Symbol.dispose]();
  const array = cuda.array({ width: 8, height: 8, dtype: "u8" });
  array.texture();
  array.surface();
  array[Symbol.dispose]();
  assertEquals(told.filter((name) => /Free|Destroy/.test(name)), [
    "cudaFreeAsync",
    "cudaMemPoolDestroy",
    "cudaFreeAsync",
    "cudaStreamDestroy",
    "cudaDestroySurfaceObject",
    "cudaDestroyTextureObject",
    "cudaFreeArray",
  ]);
});

recordedTest("rows lie at the pitch that the device chose", (cuda) => {
  using tensor = cuda.allocate({ shape: [10, 33, 3], dtype: "u8", pitch: true });
  assertEquals(tensor.layout.strides, [512, 3, 1]);
  assertEquals(tensor.grant.allocation.block.byteLength, 5120);
});

recordedTest("an array's copies are of elements, in rows at a pitch", (cuda) => {
  using array = cuda.array({ width: 33, height: 10, channels: 4, dtype: "u8" });
  using tensor = cuda.allocate({ shape: [10, 33, 4], dtype: "u8", pitch: true });
  cuda.stream.copy(tensor, array);
  cuda.stream.copy(array, tensor);
  const [to, from] = copies.map((bytes) => readCudaMemcpy3DParms(new DataView(bytes.buffer), 0));
  assertEquals([to.srcArray, to.dstArray, to.srcPtr_ptr, to.srcPtr_pitch, to.srcPtr_ysize], [
    0n,
    0x55n,
    tensor.address,
    512n,
    10n,
  ] as never);
  assertEquals([to.extent_width, to.extent_height, to.extent_depth, to.kind], [33n, 10n, 1n, 4]);
  assertEquals(
    [from.srcArray, from.dstArray, from.dstPtr_ptr, from.dstPtr_pitch],
    [0x55n, 0n, tensor.address, 512n] as never,
  );
});

recordedTest("where host and device take turns, a launch revokes views, and new ones wait", (cuda) => {
  using graph = new MapperGraph([host, cuda]);
  using managed = cuda.managed.allocate(INIT);
  using own = cuda.managed.allocate({ ...INIT, attach: "host" });
  using other = cuda.stream.allocate(INIT);
  using seen = graph.map(managed, host) as HostTensor<"u8">;
  using kept = graph.map(own, host) as HostTensor<"u8">;
  const [view, keptView] = [seen.view(), kept.view()];
  view.fill(1);
  idle = false;
  cuda.stream.fill(other, 1); // it touches none of them
  assertEquals([view.length, keptView.length], [0, 1024]);
  assertThrows(() => seen.view(), AccessError, "has not finished");
  idle = true;
  assertEquals(seen.view()[0], 1);
});

recordedTest("where host and device take turns, they refuse each other's memory", (cuda) => {
  using stream = cuda.createStream();
  using tensor = cuda.managed.allocate({ ...INIT, attach: "host" });
  assertThrows(() => cuda.stream.fill(tensor, 1), AccessError, "attached to the host");
  cuda.managed.attach(tensor, "single", stream);
  assertThrows(() => cuda.stream.fill(tensor, 1), AccessError, "another stream");
  stream.fill(tensor, 1);
  cuda.managed.attach(tensor, "global");
  cuda.stream.fill(tensor, 1);
  assertThrows(() => cuda.managed.prefetch(tensor, "host"), ArgumentError, "concurrentManagedAccess is 0");
  assertThrows(() => cuda.managed.advise(tensor, "read-mostly"), ArgumentError, "concurrentManagedAccess is 0");
  assert(told.filter((name) => name === "cudaStreamAttachMemAsync").length === 2);
});

recordedTest("where host and device take turns, all contexts of a device are one", (a) => {
  using b = CudaContext.open();
  using graph = new MapperGraph([host, a]);
  using early = a.managed.allocate(INIT);
  using seen = graph.map(early, host) as HostTensor<"u8">;
  using x = b.stream.allocate(INIT);
  const view = seen.view();
  idle = false;
  b.stream.fill(x, 1);
  assertEquals(view.length, 0);
  assertThrows(() => seen.view(), AccessError, "has not finished");
  using late = a.managed.allocate(INIT);
  assert(late.resource.busy); // b's work was there before it
  idle = true;
});

recordedTest("where host and device take turns, each of the host's maps does, however it came about", (cuda) => {
  using graph = new MapperGraph([host, cuda]);
  using managed = cuda.managed.allocate(INIT);
  using x = cuda.stream.allocate(INIT);
  using h = graph.map(managed, host) as HostTensor<"u8">;
  using d = graph.map(h, cuda);
  using h2 = graph.map(d, host) as HostTensor<"u8">;
  const view = h2.view();
  idle = false;
  cuda.stream.fill(x, 1);
  assertEquals(view.length, 0);
  assertThrows(() => h2.view(), AccessError, "has not finished");
  idle = true;
  assertEquals(h2.view().length, 1024);
});

recordedTest(
  "where host and device take turns, a Mat of such memory keeps commands away",
  (cuda) => {
    using cv = OpenCVContext.open();
    using graph = new MapperGraph([host, cuda, cv]);
    using managed = cuda.managed.allocate(INIT);
    using x = cuda.stream.allocate(INIT);
    {
      using h = graph.map(managed, host);
      using _mat = graph.map(h, cv.mat);
      assertThrows(() => cuda.stream.fill(x, 1), AccessError, "opencv.mat");
    }
    cuda.stream.fill(x, 1);
    {
      using _mat = graph.map(managed, cv.mat);
      assertThrows(() => cuda.stream.fill(x, 1), AccessError, "opencv.mat");
    }
    cuda.stream.fill(x, 1);
  },
  present ? undefined : "no OpenCV",
);

recordedTest("where host and device take turns, what is attached to all waits for what runs already", (cuda) => {
  using stream = cuda.createStream();
  using x = cuda.stream.allocate(INIT);
  using tensor = cuda.managed.allocate({ ...INIT, attach: "host" });
  using peer = host.wrap(tensor.address, INIT);
  idle = false;
  stream.fill(x, 1);
  const view = peer.view();
  cuda.managed.attach(tensor, "global");
  assertEquals(view.length, 0);
  assertThrows(() => peer.view(), AccessError, "has not finished");
  idle = true;
  peer.view();
});

recordedTest("memory that was attached to a stream comes back with its end to what it was allocated with", (cuda) => {
  using own = cuda.managed.allocate({ ...INIT, attach: "host" });
  using common = cuda.managed.allocate(INIT);
  {
    using stream = cuda.createStream();
    for (const tensor of [own, common]) cuda.managed.attach(tensor, "single", stream);
    assertThrows(() => cuda.stream.fill(common, 1), AccessError, "another stream");
  }
  assertThrows(() => cuda.stream.fill(own, 1), AccessError, "attached to the host");
  cuda.stream.fill(common, 1);
});

recordedTest("what attaches and advises is text, of a live tensor", (cuda) => {
  using tensor = cuda.managed.allocate(INIT);
  const [global, advice] = ["global", "read-mostly"].map((text) => ({ toString: () => text }) as never);
  told.length = 0;
  assertThrows(() => cuda.managed.attach(tensor, global), ArgumentError);
  assertThrows(() => setAdvice(cuda, tensor, advice, cuda, false), ArgumentError);
  assertEquals(told, []);
  tensor[Symbol.dispose]();
  assertThrows(() => cuda.managed.attach(tensor, "global"), DisposedError);
});

recordedTest("memory of another process is open once for all its peers, and not where a tensor is", (cuda) => {
  const given = { handle: new Uint8Array(64), layout: INIT };
  {
    using first = cuda.openMemory(given);
    using second = cuda.openMemory(given);
    assertEquals(first.grant.allocation, second.grant.allocation);
    assertEquals(told, ["cudaIpcOpenMemHandle", "cudaIpcOpenMemHandle", "cudaIpcCloseMemHandle"]);
  }
  assertEquals(told.slice(3), ["cudaIpcCloseMemHandle"]);
  // Others have freed what they gave, and the driver shows the memory there.
  const block = mapBlock({ byteLength: PAGE, align: PAGE, sharable: false, guard: false });
  using _stale = host.wrap(block.address + 1024n, INIT);
  Object.assign(opened, { address: block.address });
  told.length = 0;
  assertThrows(() => cuda.openMemory(given), ArgumentError, "a tensor is there");
  assertEquals(told, ["cudaIpcOpenMemHandle", "cudaIpcCloseMemHandle"]);
});
