/** What ends before what, and what is still in flight then: by the calls of a device that runs nothing. */
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { host, ledger, MapperGraph } from "../../mod.ts";
import * as constants from "../../ffi/cuda_runtime/constants.ts";
import { cudaErrorIllegalAddress, cudaErrorNotReady, cudaErrorUnknown } from "../../ffi/cuda_runtime/errors.ts";
import { mapBlock, type MappedBlock, PAGE } from "../../src/core/native/blocks.ts";
import { AccessError, ArgumentError, DisposedError, NativeCallError, NoRouteError } from "../../src/core/errors.ts";
import type { Access } from "../../src/core/memory/access.ts";
import type { Layout } from "../../src/core/layout/layout.ts";
import { cudaMemoryClass } from "../../src/cuda/alias/classes.ts";
import { CudaContext, CudaLostError, type CudaTensor } from "../../src/cuda/mod.ts";
import type { HostTensor } from "../../src/host/tensor.ts";
import { bytesAt } from "../conformance/bytes.ts";
import { collect } from "../gc.ts";
import { warningsOf } from "../warnings.ts";
import type { Fakes } from "./kernels/recording.ts";
import { oddMemory } from "./odd_memory.ts";
import { type Kept, recordedTests } from "./recorded.ts";

const INIT = { shape: [1024], dtype: "u8" } as const;
const COPY = { copy: "allow" } as const;
/** Where kernels find registered memory, from where the host does. */
const ALIAS = 0x1000_0000_0000n;

/** A device with unified addressing and managed memory, which maps and registers memory of the host, but no peer's. */
const ATTRIBUTES = new Map<number, number>([
  [constants.cudaDevAttrUnifiedAddressing, 1],
  [constants.cudaDevAttrCanMapHostMemory, 1],
  [constants.cudaDevAttrHostRegisterSupported, 1],
  [constants.cudaDevAttrManagedMemory, 1],
  [constants.cudaDevAttrConcurrentManagedAccess, 1],
  [constants.cudaDevAttrMaxTexture1DWidth, 1 << 16],
]);

/** What is recorded of each call that matters here. */
const told: string[] = [];
/** The next call of this name returns that, once. */
let failing: { readonly name: string; readonly code: number } | undefined;
/** How far the device has come: which of the events are reached, by when they were recorded. */
let horizon = Infinity;
let recorded = 0;
let nextStream = 0x7700;
const events = new Map<bigint, number>();
/** What CUDA has allocated. */
const blocks = new Map<bigint, MappedBlock>();

/** Records a call; returns what it does. */
function answered(name: string, line: string = name): number {
  told.push(line);
  if (failing?.name !== name) return 0;
  const { code } = failing;
  failing = undefined;
  return code;
}

function made(name: string, out: BigUint64Array, byteLength: bigint): number {
  const code = answered(name);
  if (code !== 0) return code;
  const block = mapBlock({ byteLength: Number(byteLength), align: PAGE, sharable: false, guard: false });
  blocks.set(out[0] = block.address, block);
  return 0;
}

function freed(name: string, address: bigint): number {
  blocks.get(address)!.free("unused");
  blocks.delete(address);
  return answered(name);
}

function copied(name: string, to: bigint, from: bigint, byteLength: bigint): number {
  const code = answered(name);
  if (code === 0) bytesAt(to, Number(byteLength)).set(bytesAt(from, Number(byteLength)));
  return code;
}

function waited(event: bigint): number {
  const code = answered("cudaEventSynchronize");
  if (code === 0) horizon = Math.max(horizon, events.get(event)!);
  return code;
}

const FAKES = {
  cudaDeviceGetAttribute: (value: Int32Array, attribute: number) => {
    value[0] = ATTRIBUTES.get(attribute) ?? 0;
    return 0;
  },
  cuDeviceGetAttribute: (value: Int32Array) => {
    value[0] = 1;
    return 0;
  },
  cudaDeviceCanAccessPeer: (can: Int32Array) => {
    can[0] = 0;
    return 0;
  },
  cuStreamGetCtx_v2: (_: bigint, out: BigUint64Array) => {
    out[0] = 0x1000n;
    return 0;
  },
  cuDevicePrimaryCtxRelease_v2: () => answered("cuDevicePrimaryCtxRelease_v2"),
  cudaStreamCreateWithPriority: (out: BigUint64Array) => {
    out[0] = BigInt(nextStream += 0x100);
    return answered("cudaStreamCreateWithPriority");
  },
  cudaStreamDestroy: () => answered("cudaStreamDestroy"),
  cudaStreamWaitEvent: () => answered("cudaStreamWaitEvent"),
  cudaEventRecord: (event: bigint) => {
    events.set(event, ++recorded);
    return answered("cudaEventRecord");
  },
  cudaEventQuery: (event: bigint) => events.get(event)! <= horizon ? 0 : cudaErrorNotReady,
  cudaEventSynchronize: waited,
  cudaStreamSynchronize: () => {
    const code = answered("cudaStreamSynchronize");
    if (code === 0) horizon = recorded;
    return code;
  },
  cudaEventSynchronizeAsync: async (event: bigint) => {
    await new Promise((go) => setTimeout(go, 5));
    return waited(event);
  },
  cudaMalloc: (out: BigUint64Array, byteLength: bigint) => made("cudaMalloc", out, byteLength),
  cudaMallocManaged: (out: BigUint64Array, byteLength: bigint) => made("cudaMallocManaged", out, byteLength),
  cudaStreamAttachMemAsync: () => answered("cudaStreamAttachMemAsync"),
  cudaMalloc3DArray: (out: BigUint64Array) => {
    out[0] = 0x55n;
    return 0;
  },
  cudaFreeArray: () => 0,
  cudaMemcpy3DAsync: () => answered("cudaMemcpy3DAsync"),
  cudaHostAlloc: (out: BigUint64Array, byteLength: bigint) => made("cudaHostAlloc", out, byteLength),
  cudaFree: (address: bigint) => freed("cudaFree", address),
  cudaFreeHost: (address: bigint) => freed("cudaFreeHost", address),
  cudaMemcpyAsync: (to: bigint, from: bigint, byteLength: bigint) => copied("cudaMemcpyAsync", to, from, byteLength),
  cudaMemcpyPeerAsync: (to: bigint, _to: number, from: bigint, _from: number, byteLength: bigint) =>
    copied("cudaMemcpyPeerAsync", to, from, byteLength),
  cudaMemset2DAsync: () => answered("cudaMemset2DAsync"),
  cudaHostRegister: (address: bigint) => answered("cudaHostRegister", `register ${address}`),
  cudaHostUnregister: () => answered("cudaHostUnregister"),
  cudaHostGetDevicePointer: (out: BigUint64Array, address: bigint) => {
    const own = blocks.has(address);
    out[0] = own ? address : address + ALIAS;
    return own ? 0 : answered("cudaHostGetDevicePointer", `alias of ${address}`);
  },
  cuMemGetAllocationGranularity: (out: BigUint64Array) => {
    out[0] = 1n << 16n;
    return 0;
  },
  cuMemCreate: (out: BigUint64Array) => {
    out[0] = 7n;
    return 0;
  },
  cuMemRelease: () => 0,
  cuMemAddressReserve: (out: BigUint64Array, byteLength: bigint) => made("cuMemAddressReserve", out, byteLength),
  cuMemAddressFree: (address: bigint) => freed("cuMemAddressFree", address),
  cuMemMap: () => 0,
  cuMemUnmap: () => 0,
  cuMemSetAccess: () => answered("cuMemSetAccess"),
} as unknown as Fakes;

const over = recordedTests(FAKES);

/** A test over the recording, which warns of nothing. */
function recordedTest(
  name: string,
  run: (cuda: CudaContext, graph: MapperGraph) => unknown,
  kept: { readonly alive?: Kept; readonly quarantined?: number } = {},
): void {
  over(name, async () => {
    [failing, horizon] = [undefined, Infinity];
    const { quarantinedBytes } = ledger;
    const warnings = await warningsOf(async () => {
      using cuda = CudaContext.open();
      using graph = new MapperGraph([host, cuda]);
      proveNothing(cuda);
      told.length = 0;
      await run(cuda, graph);
      [failing, horizon] = [undefined, Infinity];
    });
    assertEquals(warnings.filter((warning) => !warning.includes("proof of aliasing")), [], "what was warned of");
    assertEquals(ledger.quarantinedBytes - quarantinedBytes, kept.quarantined ?? 0, "what is kept for good");
  }, kept.alive);
}

/** A device that runs nothing proves nothing: it says so the first time. */
function proveNothing({ proofs, device }: CudaContext): void {
  for (const kind of ["pinned", "registered", "virtual"] as const) {
    proofs.tryToProve(cudaMemoryClass(kind, device));
  }
}

/** The names of the recorded calls, oldest first. */
function ofThese(names: RegExp): string[] {
  return told.filter((line) => names.test(line));
}

/** Maps a tensor, or a part of it, by copy. */
type Map = (part: Layout | undefined, access: Access) => { readonly mapped: HostTensor | CudaTensor; end(): void };

/** Each way that maps copy, with a context of its own whose stream carries the copies. */
function copyingWays(run: (way: string, map: Map, carrier: CudaContext) => void): void {
  for (const way of ["cuda→host", "cuda→cuda", "host→cuda"]) {
    using cuda = CudaContext.open();
    using other = CudaContext.open({ ordinal: 1 });
    using graph = new MapperGraph([host, cuda, other]);
    using tensor: HostTensor | CudaTensor = way === "host→cuda" ? oddMemory(INIT) : cuda.allocate(INIT);
    const to = { "cuda→host": host, "cuda→cuda": other, "host→cuda": cuda }[way]!;
    run(way, (part, access) => {
      const source = part === undefined ? tensor : tensor.slice(part);
      const mapped = graph.map(source, to, { access, ...COPY }) as HostTensor | CudaTensor;
      const end = () => (part === undefined ? mapped : source)[Symbol.dispose]();
      return { mapped, end };
    }, way === "cuda→cuda" ? other : cuda);
  }
}

recordedTest("the end of one who attached to a stream says nothing of what another has submitted", async (cuda) => {
  const [first, second] = [cuda.allocate(INIT), cuda.allocate(INIT)];
  const one = cuda.attachStream(1n);
  using another = cuda.attachStream(1n);
  horizon = recorded; // what is submitted from now on is in flight
  one.fill(first, 1);
  const ended = one[Symbol.asyncDispose]();
  another.fill(second, 1);
  await ended;
  assert(!first.resource.busy);
  told.length = 0;
  assert(second.resource.busy);
  second[Symbol.dispose]();
  assertEquals(ofThese(/Event|Synchronize|Free/), ["cudaEventRecord", "cudaStreamSynchronize", "cudaFree"]);
  first[Symbol.dispose]();
});

recordedTest("a stream that ends takes along who attached to its handle, and waits for that work first", (cuda) => {
  using tensor = cuda.allocate(INIT);
  const stream = cuda.createStream();
  const attached = cuda.attachStream(stream.handle);
  horizon = recorded;
  attached.fill(tensor, 1);
  told.length = 0;
  stream[Symbol.dispose]();
  assertEquals(ofThese(/StreamS|Destroy/).filter((name) => !name.includes("Event")), [
    "cudaStreamSynchronize",
    "cudaStreamDestroy",
  ]);
  assertThrows(() => attached.fill(tensor, 2), DisposedError);
  assert(!tensor.resource.busy);
});

recordedTest("a fence's event is asked first, and its stream is waited for where that is not over", (cuda) => {
  const idle = cuda.stream.fence();
  horizon = recorded;
  told.length = 0;
  idle.waitSync();
  assertEquals(ofThese(/Event|Synchronize/), []);
  const busy = cuda.stream.fence();
  told.length = 0;
  busy.waitSync();
  assertEquals(ofThese(/Event|Synchronize/), ["cudaStreamSynchronize"]);
});

recordedTest("a map that copies back ends before the stream that carries it", () => {
  copyingWays((way, map, { stream }) => {
    const { mapped } = map(undefined, "read-write");
    told.length = 0;
    stream[Symbol.dispose]();
    mapped[Symbol.dispose]();
    assertEquals(ofThese(/Memcpy|Free|StreamDestroy/).map((line) => line.replace(/Peer|Host/, "")), [
      "cudaMemcpyAsync",
      "cudaFree",
      "cudaStreamDestroy",
    ], way);
    if (way !== "cuda→host") return;
    told.length = 0;
    assertThrows(() => map(undefined, "read-write"), DisposedError, "cuda stream");
    assertEquals(ofThese(/Memcpy/), []);
  });
});

recordedTest("virtual memory of the host is not a device's that it was not made for", (cuda) => {
  using other = CudaContext.open({ ordinal: 1 });
  using graph = new MapperGraph([host, cuda, other]);
  using tensor = cuda.virtual.allocate({ ...INIT, location: "host" });
  assertThrows(() => graph.map(tensor, other), NoRouteError, "it was not allocated for that device");
  using copy = graph.map(tensor, other, COPY) as CudaTensor;
  assertEquals(copy.memory, "device");
});

recordedTest(
  "a map and an address give the same reason why a device's virtual memory is closed to the host",
  (cuda) => {
    using graph = new MapperGraph([host, cuda]);
    using tensor = cuda.virtual.allocate(INIT);
    const [{ reason, remedy }] = graph.explain(tensor, host).refused;
    assertStringIncludes(remedy!, 'graph.map(tensor, host, { copy: "allow" })');
    using copy = graph.map(tensor, host, COPY); // as the remedy says
    assertEquals(copy.route.steps.at(-1)!.transfer, "copy");
    const error = assertThrows(() => host.wrap(tensor.address, INIT), ArgumentError, reason);
    assertEquals(error.hint, remedy);
  },
);

recordedTest("virtual memory maps to the devices that it was made for, by its own address", (cuda) => {
  using other = CudaContext.open({ ordinal: 1 });
  using graph = new MapperGraph([cuda, other]);
  using tensor = cuda.virtual.allocate({ ...INIT, location: "host", devices: [other] });
  for (const context of [cuda, other]) {
    using mapped = graph.map(tensor.slice({ shape: [24], dtype: "u8", byteOffset: 1000 }), context);
    assertEquals(mapped.route.steps.map(({ edge, transfer }) => [edge, transfer]), [["cuda.virtual→cuda", "alias"]]);
    assertEquals([mapped.memory, mapped.address, mapped.address], [
      "virtual",
      tensor.address + 1000n,
      mapped.hostHandle,
    ]);
    mapped.parent![Symbol.dispose]();
  }
});

recordedTest("a kernel that went wrong is known of from then on, whichever call has reported it", (cuda) => {
  const stream = cuda.createStream();
  const tensor = cuda.allocate(INIT);
  horizon = recorded;
  stream.fill(tensor, 1);
  failing = { name: "cudaEventRecord", code: cudaErrorIllegalAddress };
  told.length = 0;
  assertThrows(() => tensor[Symbol.dispose](), CudaLostError);
  assertEquals(ofThese(/Event|Free/), ["cudaEventRecord", "cudaFree"]); // no call waits for what never ends
  told.length = 0;
  assertThrows(() => stream.finish(), CudaLostError);
  assertThrows(() => stream[Symbol.dispose](), CudaLostError);
  assertEquals(told, ["cudaStreamDestroy"]);
});

recordedTest("what a stream was given behind a fence does not delay it", (cuda) => {
  using tensor = cuda.allocate(INIT);
  const fence = cuda.stream.fence();
  horizon = recorded;
  cuda.stream.fill(tensor, 1);
  told.length = 0;
  assert(fence.reached());
  assertEquals(ofThese(/Event/), []); // its own was recorded with it
  assert(tensor.resource.busy);
  assertEquals(ofThese(/Event/), ["cudaEventRecord"]);
});

recordedTest("a stream waits for another on the device, once, and for a promise on the host", async (cuda) => {
  using tensor = cuda.allocate(INIT);
  using other = cuda.createStream();
  horizon = recorded;
  other.fill(tensor, 1);
  told.length = 0;
  cuda.stream.fill(tensor, 2);
  cuda.stream.fill(tensor, 3);
  assertEquals(ofThese(/Event|Memset/), [
    "cudaEventRecord",
    "cudaStreamWaitEvent",
    "cudaMemset2DAsync",
    "cudaMemset2DAsync",
  ]);
  const { promise, reject } = Promise.withResolvers<void>();
  const fence = host.signal(promise);
  assertThrows(() => cuda.stream.waitFor(fence), AccessError, "a promise that is not settled");
  tensor.usedBy(fence);
  assertThrows(() => cuda.stream.fill(tensor, 4), AccessError, "a promise that is not settled");
  const failure = new Error("the program's own");
  reject(failure);
  await assertRejects(() => fence.wait(), Error, failure.message);
  assertThrows(() => cuda.stream.waitFor(fence), Error, failure.message);
  horizon = Infinity;
  assertThrows(() => tensor[Symbol.dispose](), Error, failure.message);
});

recordedTest("a wait off this thread keeps the device's primary context", async (cuda) => {
  const fence = cuda.stream.fence();
  horizon = recorded - 1;
  const { "cuda.primary_context": before } = ledger.alive;
  const waiting = fence.wait();
  assertEquals(ledger.alive["cuda.primary_context"], before + 1);
  await waiting;
  assertEquals(ledger.alive["cuda.primary_context"], before);
});

recordedTest(
  "a kernel that went wrong fails what was in flight and all that comes, and nothing that was over",
  (cuda) => {
    using stream = cuda.createStream();
    const over = stream.fence();
    assert(over.reached());
    const inFlight = stream.fence();
    failing = { name: "cudaStreamSynchronize", code: cudaErrorIllegalAddress };
    horizon = recorded - 1;
    assertThrows(() => inFlight.waitSync(), CudaLostError);
    assert(over.reached());
    assertThrows(() => inFlight.reached(), CudaLostError);
    assertThrows(() => stream.fence().reached(), CudaLostError);
    assertThrows(() => stream[Symbol.dispose](), CudaLostError);
  },
);

recordedTest("a stream that ends takes no new copy", async () => {
  using cuda = CudaContext.open();
  using graph = new MapperGraph([host, cuda]);
  using busy = cuda.allocate(INIT);
  using idle = cuda.allocate(INIT);
  using odd = oddMemory(INIT);
  horizon = recorded;
  cuda.stream.fill(busy, 1);
  const ended = cuda.stream[Symbol.asyncDispose]();
  told.length = 0;
  for (const [source, to] of [[odd, cuda], [idle, host]] as const) {
    assertThrows(() => graph.map(source, to, { access: "read", ...COPY }), DisposedError, "cuda stream");
  }
  assertEquals(ofThese(/Memcpy/), []);
  await ended;
});

recordedTest("the alias of registered memory is that of its block, wherever a handle lies", (cuda, graph) => {
  const block = mapBlock({ byteLength: 4 * PAGE, align: PAGE, sharable: false, guard: false });
  const begin = block.address + BigInt(PAGE);
  {
    using tensor = host.wrap(block.address, { ...INIT, byteOffset: PAGE });
    using mapped = graph.map(tensor, cuda) as CudaTensor;
    assertEquals(told, [`register ${begin}`, `alias of ${begin}`]);
    assertEquals(mapped.address, begin + ALIAS as typeof mapped.address);
  }
  assertEquals(ofThese(/Unregister/).length, 1);
  block.free("unused");
});

recordedTest("what lies between the elements of a slice comes back from a copy as it was", () => {
  const part = { shape: [16, 8], dtype: "u8", strides: [64, 1], byteOffset: 0, byteLength: 15 * 64 + 8 } as const;
  copyingWays((way, map) => {
    told.length = 0;
    const { mapped, end } = map(part as Layout, "write");
    const address = (tensor: unknown) => (tensor as CudaTensor).rawHandle;
    const [copy, own] = [mapped, mapped.parent].map((tensor) => bytesAt(address(tensor), part.byteLength));
    assertEquals(ofThese(/Memcpy/).length, 1, way);
    own.fill(3); // which programs may not do, to see what comes back
    copy[0] = 9;
    end();
    assertEquals([own[0], own[8]], [9, 0], way);
    assertEquals(ofThese(/Memcpy/).length, 2, way);
    told.length = 0;
    map(undefined, "write").end();
    assertEquals(ofThese(/Memcpy/).length, 1, `${way} without gaps`);
  });
});

recordedTest("where the wait for a copy fails, its memory goes only once it is done", (cuda, graph) => {
  using tensor = cuda.allocate(INIT);
  told.length = 0;
  horizon = recorded;
  failing = { name: "cudaStreamSynchronize", code: cudaErrorUnknown };
  assertThrows(() => graph.map(tensor, host, COPY), NativeCallError);
  assertEquals(ofThese(/HostAlloc|Memcpy|Synchronize|Free/), [
    "cudaHostAlloc",
    "cudaMemcpyAsync",
    "cudaStreamSynchronize", // failed
    "cudaStreamSynchronize",
    "cudaFreeHost",
  ]);
});

recordedTest("memory with an escaped view is kept for good, and the device's primary context with it", async () => {
  const cuda = CudaContext.open();
  const graph = new MapperGraph([host, cuda]);
  const tensor = cuda.pinned.allocate(INIT);
  const mapped = graph.map(tensor, host) as HostTensor<"u8">;
  const escaped = mapped.view().buffer.transfer();
  told.length = 0;
  const [warning] = await warningsOf(() => mapped[Symbol.dispose]());
  assertStringIncludes(warning, "its memory is kept for good");
  tensor[Symbol.dispose]();
  assertEquals(told, []);
  cuda[Symbol.dispose]();
  assertEquals(ofThese(/Free|Release/), ["cuDevicePrimaryCtxRelease_v2"]); // its own: the memory's stays
  assertEquals(new Uint8Array(escaped)[0], 0);
}, { alive: { "cuda.primary_context": 1 }, quarantined: INIT.shape[0] });

recordedTest("what is disposed while earlier work is not over records few events of its own", async (cuda) => {
  const { stream } = cuda;
  const count = (name: string) => told.filter((call) => call === name).length;
  using last = cuda.allocate(INIT);
  horizon = recorded;
  for (let i = 0; i < 40; i++) {
    const tensor = cuda.allocate(INIT);
    stream.fill(tensor, i);
    tensor.disposeAfter(stream.line.fence());
  }
  assertEquals(count("cudaEventRecord"), 3); // behind every 17th command
  const fence = stream.line.fence();
  assert(!fence.reached());
  assertEquals(count("cudaEventRecord"), 4); // behind no later command
  stream.fill(last, 0);
  horizon = recorded;
  assert(fence.reached());
  while (count("cudaFree") < 40) await new Promise((resolve) => setTimeout(resolve, 1));
});

over("a context that is forgotten is collected, with a warning; its native objects stay", async () => {
  const warnings = await warningsOf(async () => {
    (() => void CudaContext.open())();
    await collect();
  });
  assertEquals(warnings.length, 1);
  assertStringIncludes(warnings[0], "was never disposed; its native objects stay");
}, { "cuda.cudaStream_t": 1, "cuda.primary_context": 1 });
