/** Waiting for work that is really under way: kernels that spin until a test lets them go on. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, host, type HostTensor, MapperGraph } from "../../mod.ts";
import type { CudaContext, CudaStream } from "../../src/cuda/mod.ts";
import { assertSame } from "../conformance/bytes.ts";
import { gpuTest, withCuda } from "./help.ts";
import { Held, sleep } from "./held.ts";

const SIZE = 8192;

/** What a test has: a device, a graph over it and the host, and kernels that wait. */
interface Bench {
  readonly cuda: CudaContext;
  readonly graph: MapperGraph;
  readonly held: Held;
}

function test(name: string, run: (bench: Bench) => unknown): void {
  gpuTest(`sync: ${name}`, () =>
    withCuda(async (cuda) => {
      using graph = new MapperGraph([host, cuda]);
      using held = new Held(cuda);
      await run({ cuda, graph, held });
    }));
}

function hostBytes(): HostTensor<"u8"> {
  return host.allocate({ shape: [SIZE], dtype: "u8" });
}

function assertAll(tensor: HostTensor<"u8">, byte: number): void {
  assertSame(tensor.bytes({ access: "read" }).slice(), new Uint8Array(SIZE).fill(byte), "what the host sees");
}

test("a fence is reached when the work is done, and not before", async ({ cuda, held }) => {
  using device = cuda.allocate({ shape: [SIZE], dtype: "u8" });
  held.start(device);
  const fence = cuda.stream.fence();
  const waits = Array.from({ length: 40 }, () => fence.wait()); // more than threads that wait
  let over = false;
  const all = Promise.all(waits).then(() => over = true);
  await sleep(20);
  assertEquals([fence.reached(), over], [false, false]);
  held.open();
  await all;
  assert(fence.reached());
});

test("a wait that blocks ends with the work", ({ cuda, held }) => {
  using device = cuda.allocate({ shape: [SIZE], dtype: "u8" });
  held.later(device, 30);
  const fence = cuda.stream.fence();
  assert(!fence.reached());
  const began = performance.now();
  fence.waitSync();
  assert(performance.now() - began > 10, "it did not wait");
  assert(fence.reached());
});

test("an unmap that blocks waits for the kernel that uses the bytes", ({ cuda, graph, held }) => {
  using source = hostBytes();
  const mapped = graph.map(source, cuda);
  held.later(mapped, 30);
  mapped[Symbol.dispose]();
  assertAll(source, 7);
});

test("an unmap that is awaited lets the event loop turn", async ({ cuda, graph, held }) => {
  using source = hostBytes();
  const mapped = graph.map(source, cuda);
  held.start(mapped);
  let over = false;
  const unmapped = mapped[Symbol.asyncDispose]().then(() => over = true);
  let turns = 0;
  const timer = setInterval(() => turns++, 2);
  await sleep(50);
  clearInterval(timer);
  assert(turns > 5, `a timer of 2 ms fired ${turns} times in 50`);
  assert(!over, "the unmap did not wait");
  assertThrows(() => source.handle, AccessError);
  held.open();
  await unmapped;
  assertAll(source, 7);
});

test("work on a raw handle counts once it is declared", async ({ cuda, graph, held }) => {
  using source = hostBytes();
  const mapped = graph.map(source, cuda);
  held.startUnknown(mapped, cuda.stream);
  mapped.usedBy(cuda.stream.fence());
  let over = false;
  const unmapped = mapped[Symbol.asyncDispose]().then(() => over = true);
  await sleep(20);
  assert(!over, "the unmap did not wait for the work that was declared");
  held.open();
  await unmapped;
  assertAll(source, 7);
});

test("bytes on their way back are mapped again behind a wait of the device", async ({ cuda, graph, held }) => {
  using source = hostBytes();
  using result = cuda.allocate({ shape: [SIZE], dtype: "u8" });
  using other = cuda.createStream();
  const first = graph.map(source, cuda);
  held.start(first);
  first.disposeAfter(cuda.stream.fence());
  assertEquals(first.grant.state, "returning");
  assertThrows(() => source.view(), AccessError);
  assert(graph.explain(source, cuda).steps.every(({ hostWait }) => !hostWait), "the host would wait");
  {
    await using second = graph.map(source, cuda); // at once: the gate is closed
    held.add(result, second, other);
    const added = other.fence();
    await sleep(20);
    assert(!added.reached(), "a kernel did not wait for the one whose bytes it reads");
    held.open();
    await added.wait();
  }
  const bytes = new Uint8Array(SIZE);
  cuda.stream.read(result, bytes);
  assertSame(bytes, new Uint8Array(SIZE).fill(8), "what the second stream made of the first one's bytes");
  await first[Symbol.asyncDispose]();
  assertAll(source, 7);
});

test("a map after a fence of the device does not make the host wait", async ({ cuda, graph, held }) => {
  using source = hostBytes();
  using device = cuda.allocate({ shape: [SIZE], dtype: "u8" });
  using other = cuda.createStream();
  held.start(device);
  const after = cuda.stream.fence();
  {
    await using mapped = graph.map(source, cuda, { after }); // at once
    held.later(mapped, 0, other);
    await sleep(20);
    assert(!after.reached());
    const written = other.fence();
    assert(!written.reached(), "a kernel did not wait for what the map was to come after");
    held.open();
  }
  assertAll(source, 7);
});

test("a stream waits for another's fence", async ({ cuda, held }) => {
  using device = cuda.allocate({ shape: [SIZE], dtype: "u8" });
  using result = cuda.allocate({ shape: [SIZE], dtype: "u8" });
  await using other = cuda.createStream();
  held.startUnknown(device, cuda.stream);
  other.waitFor(cuda.stream.fence());
  held.add(result, device, other);
  const added = other.fence();
  await sleep(20);
  assert(!added.reached());
  held.open();
  await added.wait();
  const bytes = new Uint8Array(SIZE);
  cuda.stream.read(result, bytes);
  assertSame(bytes, new Uint8Array(SIZE).fill(8), "what came behind the fence");
});

test("kernels on two streams over one tensor run one after the other", async ({ cuda, held }) => {
  using device = cuda.allocate({ shape: [SIZE], dtype: "u8" });
  using result = cuda.allocate({ shape: [SIZE], dtype: "u8" });
  await using other = cuda.createStream();
  held.start(device);
  held.add(result, device, other); // the program did not say that it should wait
  const added = other.fence();
  await sleep(20);
  assert(!added.reached());
  held.open();
  await added.wait();
  const bytes = new Uint8Array(SIZE);
  cuda.stream.read(result, bytes);
  assertSame(bytes, new Uint8Array(SIZE).fill(8), "what the second kernel made of the first one's bytes");
});

test("kernels on two streams that share nothing run beside each other", async ({ cuda, held }) => {
  using device = cuda.allocate({ shape: [SIZE], dtype: "u8" });
  using beside = cuda.allocate({ shape: [SIZE], dtype: "u8" });
  await using other = cuda.createStream();
  held.start(device);
  held.later(beside, 0, other);
  await other.finished();
  const fence = cuda.stream.fence();
  assert(!fence.reached(), "the second kernel waited for the first");
  held.open();
});

for (const kind of ["pinned", "managed"] as const) {
  test(`the host's map of ${kind} memory waits for the kernel at work on it`, ({ cuda, graph, held }) => {
    using memory = cuda[kind].allocate({ shape: [SIZE], dtype: "u8" });
    held.later(memory, 30);
    using seen = graph.map(memory, host);
    assertSame(seen.bytes({ access: "read" }).slice(), new Uint8Array(SIZE).fill(7), "what the host sees");
  });
}

test("memory of the device that is disposed at work is freed behind it", async ({ cuda, held }) => {
  const device = cuda.allocate({ shape: [SIZE], dtype: "u8" });
  held.start(device);
  let over = false;
  const freed = device[Symbol.asyncDispose]().then(() => over = true);
  await sleep(20);
  assert(!over, "it was freed under the kernel");
  held.open();
  await freed;
});

test("a stream that is disposed at work ends behind it", async ({ cuda, held }) => {
  using device = cuda.allocate({ shape: [SIZE], dtype: "u8" });
  const stream: CudaStream = cuda.createStream();
  held.start(device, stream);
  const fence = stream.fence();
  let over = false;
  const ended = stream[Symbol.asyncDispose]().then(() => over = true);
  await sleep(20);
  assert(!over, "the stream was destroyed at work");
  held.open();
  await ended;
  assert(fence.reached());
});

gpuTest("sync: a context that is disposed at work ends behind it", () =>
  withCuda(async (outer) => {
    using held = new Held(outer); // its gate outlives the context that works
    await withCuda(async (cuda) => {
      const device = cuda.allocate({ shape: [SIZE], dtype: "u8" });
      held.startUnknown(device, outer.stream);
      device.usedBy(outer.stream.fence());
      let over = false;
      const ended = cuda[Symbol.asyncDispose]().then(() => over = true);
      await sleep(20);
      assert(!over, "the context did not wait for the work on its memory");
      held.open();
      await ended;
    });
  }));
