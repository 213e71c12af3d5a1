import { assert, assertEquals } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  InteropError,
  ledger,
  NativeCallError,
} from "@samepage/interop";
import type { OpenCLContext, OpenCLTensor } from "@samepage/interop/opencl";
import { NULL } from "../../ffi/address.ts";
import {
  CL_COMPLETE,
  CL_EVENT_REFERENCE_COUNT,
  CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
  CL_QUEUE_PROFILING_ENABLE,
  CL_QUEUE_PROPERTIES,
  CL_QUEUE_REFERENCE_COUNT,
} from "../../ffi/opencl/constants.ts";
import type { ClCommandQueue, ClEvent } from "../../ffi/opencl/handles.ts";
import { errcode } from "../../src/opencl/errors.ts";
import { infoU32 } from "../../src/opencl/info.ts";
import { opencl } from "../../src/opencl/library.ts";
import { Words } from "../../src/opencl/queues/event.ts";
import {
  assertBytes,
  assertHeld,
  bench,
  collect,
  filled,
  gate,
  LONG,
  open,
  random,
  rejection,
  sleep,
  test,
  testEach,
  testFailing,
  thrown,
} from "./help.ts";
import { linesOf } from "./subprocess.ts";

/** OpenCL calls of somebody else, who knows nothing of samepage; all of it ends with the context of the test. */
class Stranger {
  readonly #cl: OpenCLContext;

  constructor(cl: OpenCLContext) {
    this.#cl = cl;
  }

  queue(properties = 0n): ClCommandQueue {
    const list = new BigUint64Array([BigInt(CL_QUEUE_PROPERTIES), properties, 0n]);
    const create = opencl().clCreateCommandQueueWithProperties!;
    const queue = create(this.#cl.handle, this.#cl.device.handle, list, errcode);
    assertEquals(errcode[0], 0);
    return queue;
  }

  userEvent(): ClEvent {
    const event = opencl().clCreateUserEvent(this.#cl.handle, errcode);
    assertEquals(errcode[0], 0);
    return event;
  }

  set(event: ClEvent, status: number = CL_COMPLETE): void {
    assertEquals(opencl().clSetUserEventStatus(event, status), 0);
  }

  /** Fills a tensor's buffer, behind an event; not flushed. */
  fill(queue: ClCommandQueue, tensor: OpenCLTensor, value: number, after?: ClEvent): ClEvent {
    const event = new Words(1);
    const list = new Words(1);
    list.words[0] = after ?? 0n;
    const bytes = BigInt(tensor.layout.byteLength);
    const pattern = new Uint8Array([value]);
    const code = opencl().clEnqueueFillBuffer(
      queue,
      tensor.handle,
      pattern,
      1n,
      0n,
      bytes,
      after === undefined ? 0 : 1,
      after === undefined ? NULL : list.addresses[0],
      event.addresses[0],
    );
    assertEquals(code, 0);
    return event.words[0] as ClEvent;
  }

  release(...events: ClEvent[]): void {
    for (const event of events) assertEquals(opencl().clReleaseEvent(event), 0);
  }

  end(queue: ClCommandQueue): void {
    assertEquals(opencl().clFinish(queue), 0);
    assertEquals(opencl().clReleaseCommandQueue(queue), 0);
  }
}

function contents(cl: OpenCLContext, tensor: OpenCLTensor): Uint8Array {
  const bytes = new Uint8Array(tensor.layout.byteLength);
  cl.queue.read(tensor, bytes);
  return bytes;
}

function references(queue: ClCommandQueue): number {
  return infoU32("", (...args) => opencl().clGetCommandQueueInfo(queue, ...args), CL_QUEUE_REFERENCE_COUNT);
}

function referencesTo(event: ClEvent): number {
  const count = new Words(1);
  assertEquals(opencl().clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, 4n, count.addresses[0], NULL), 0);
  return Number(count.words[0]);
}

testEach("an attached queue is retained, does what it says, and outlives us", (platform) => {
  using b = bench(platform);
  const stranger = new Stranger(b.cl);
  for (const properties of [0n, CL_QUEUE_PROFILING_ENABLE]) {
    const raw = stranger.queue(properties);
    using tensor = b.cl.allocate({ shape: [4096], dtype: "u8" });
    {
      using queue = b.cl.attachQueue(raw);
      assertEquals(queue.handle, raw);
      assertEquals(queue.profiling, properties !== 0n);
      assertEquals(references(raw) >= 2, true);
      b.kernels.fill.run({ items: [4096] }, [tensor, 1], { queue });
      b.kernels.slow.run({ items: [4096] }, [tensor, 2, LONG / 4], { queue });
      const fence = queue.line.fence();
      b.kernels.add.run({ items: [4096] }, [tensor, 3]);
      if (queue.profiling) {
        fence.waitSync();
        const { started, ended } = queue.times(fence);
        assert(started <= ended);
      } else assertEquals(thrown(ArgumentError, () => queue.times(fence)).argument, "profiling");
    }
    const got = new Uint8Array(4096);
    b.cl.queue.read(tensor, got);
    assertBytes(got, filled(4096, 1).map((byte) => byte + 5));
    stranger.release(stranger.fill(raw, tensor, 9));
    stranger.end(raw);
    b.cl.queue.read(tensor, got);
    assertBytes(got, new Uint8Array(4096).fill(9));
  }
});

testEach("a queue that runs commands out of order is not attached", (platform) => {
  using b = bench(platform);
  const stranger = new Stranger(b.cl);
  const raw = stranger.queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE); // rusticl 22.3 makes those that it says it cannot
  const error = thrown(ArgumentError, () => b.cl.attachQueue(raw));
  assertEquals(error.argument, "handle");
  assert(error.message.includes("out of order"), error.message);
  stranger.end(raw);
});

testEach("the fence of an attached queue stands behind what others submitted", async (platform) => {
  using b = bench(platform);
  const stranger = new Stranger(b.cl);
  const raw = stranger.queue();
  using tensor = b.cl.allocate({ shape: [64], dtype: "u8" });
  using queue = b.cl.attachQueue(raw);
  const gate = stranger.userEvent();
  const event = stranger.fill(raw, tensor, 3, gate);
  const fence = queue.fence();
  queue.flush();
  await sleep(5);
  assert(!fence.reached());
  stranger.set(gate);
  await fence.wait();
  assertBytes(contents(b.cl, tensor), new Uint8Array(64).fill(3));
  stranger.release(event, gate);
  stranger.end(raw);
});

testEach("attached twice, and our own queue attached: work is ordered all the same", (platform) => {
  using b = bench(platform);
  const queues = [b.cl.queue, b.cl.attachQueue(b.cl.queue.handle), b.cl.attachQueue(b.cl.queue.handle)];
  using tensor = b.cl.allocate({ shape: [1024], dtype: "u8" });
  b.cl.queue.fill(tensor, 0);
  const expected = new Uint8Array(1024);
  for (let i = 0; i < 30; i++) {
    const queue = queues[i % 3];
    if (i % 4 === 0) b.kernels.doubleIt.run({ items: [1024] }, [tensor], { queue });
    else b.kernels.slow.run({ items: [1024] }, [tensor, i, 100], { queue });
    expected.forEach((byte, at) => expected[at] = i % 4 === 0 ? byte * 2 : byte + i);
  }
  queues[2][Symbol.dispose]();
  const got = new Uint8Array(1024);
  queues[1].read(tensor, got);
  assertBytes(got, expected);
});

testEach("a blocking wait is refused where another line on the same queue waits for a promise", async (platform) => {
  using b = bench(platform);
  using queue = b.cl.attachQueue(b.cl.queue.handle);
  using tensor = b.cl.allocate({ shape: [64], dtype: "u8" });
  const { promise, resolve } = Promise.withResolvers<void>();
  b.cl.queue.waitFor(host.signal(promise));
  queue.fill(tensor, 3);
  const filled = queue.line.fence();
  thrown(AccessError, () => filled.waitSync());
  resolve();
  await filled.wait();
  assertBytes(contents(b.cl, tensor), new Uint8Array(64).fill(3));
});

testEach("our end neither waits for what others submitted, nor ends it", async (platform) => {
  using b = bench(platform);
  const stranger = new Stranger(b.cl);
  const raw = stranger.queue();
  using theirs = b.cl.allocate({ shape: [64], dtype: "u8" });
  using ours = b.cl.allocate({ shape: [64], dtype: "u8" });
  const gate = stranger.userEvent();
  const queue = b.cl.attachQueue(raw);
  queue.fill(ours, 1);
  const done = queue.line.fence(); // at no marker: rusticl 22.3 ends one with what was flushed beside it
  const event = stranger.fill(raw, theirs, 7, gate);
  const fence = b.cl.attachEvent(event);
  theirs.usedBy(fence);
  queue[Symbol.dispose](); // does not hang
  assert(done.reached() && !fence.reached());
  stranger.set(gate);
  await fence.wait();
  const got = new Uint8Array(64);
  b.cl.queue.read(theirs, got);
  assertBytes(got, new Uint8Array(64).fill(7));
  stranger.release(event, gate);
  stranger.end(raw);
});

testEach("an attached event: in a wait list, waited for, awaited, in a map", async (platform) => {
  using b = bench(platform);
  const stranger = new Stranger(b.cl);
  const raw = stranger.queue(CL_QUEUE_PROFILING_ENABLE);
  using tensor = b.cl.allocate({ shape: [4096], dtype: "u8" });
  for (const how of ["wait list", "waitSync", "wait", "waitFor", "nothing"] as const) {
    const value = 1 + random(1)[0] % 100;
    const event = stranger.fill(raw, tensor, value); // not flushed
    const fence = b.cl.attachEvent(event);
    tensor.usedBy(fence);
    stranger.release(event); // ours is one of our own
    if (how === "waitSync") fence.waitSync();
    if (how === "wait") await fence.wait();
    if (how === "waitFor") b.cl.queue.waitFor([fence]).waitSync();
    if (how === "wait list") {
      b.kernels.add.run({ items: [4096] }, [tensor, 1], { after: fence });
      b.kernels.add.run({ items: [4096] }, [tensor, 255]);
    }
    const got = new Uint8Array(4096);
    b.cl.queue.read(tensor, got);
    assertBytes(got, new Uint8Array(4096).fill(value), how);
  }
  using source = host.allocate({ shape: [64], dtype: "u8" });
  const gate = stranger.userEvent();
  const opened = b.cl.attachEvent(gate);
  const mapped = b.graph.map(source, b.cl, { after: opened });
  b.kernels.fill.run({ items: [64] }, [mapped, 3]);
  stranger.set(gate);
  mapped[Symbol.dispose]();
  assertBytes(source.view(), filled(64, 3));
  stranger.release(gate);
  stranger.end(raw);
});

testEach(
  "a user event that somebody else sets never blocks this thread; awaited, it ends once it is set",
  async (platform) => {
    using b = bench(platform);
    const stranger = new Stranger(b.cl);
    using tensor = b.cl.allocate({ shape: [64], dtype: "u8" });
    using other = b.cl.createQueue();
    const gate = stranger.userEvent();
    const fence = b.cl.attachEvent(gate);
    assert(!fence.reached());
    b.kernels.fill.run({ items: [64] }, [tensor, 1], { after: fence });
    const behind = b.cl.queue.fence();
    const marker = other.waitFor([behind]);
    for (
      const action of [
        () => fence.waitSync(),
        () => behind.waitSync(),
        () => marker.waitSync(),
        () => b.cl.queue.finish(),
        () => other.finish(),
        () => b.cl.queue.read(tensor, new Uint8Array(64)),
        () => b.graph.map(tensor, host),
      ]
    ) assertEquals(thrown(AccessError, action).argument, "fence");
    const waits = [fence.wait(), behind.wait(), marker.wait()];
    const stop = new AbortController();
    const stopped = rejection(RangeError, fence.wait({ signal: stop.signal }));
    stop.abort(new RangeError("enough"));
    await stopped;
    await sleep(5);
    stranger.set(gate);
    await Promise.all(waits);
    fence.waitSync();
    const got = new Uint8Array(64);
    b.cl.queue.read(tensor, got);
    assertBytes(got, filled(64, 1));
    stranger.release(gate);
  },
);

testFailing("a user event that somebody else fails", async (platform) => {
  using b = bench(platform);
  const stranger = new Stranger(b.cl);
  const tensor = b.cl.allocate({ shape: [64], dtype: "u8" });
  const gate = stranger.userEvent();
  const fence = b.cl.attachEvent(gate);
  b.kernels.fill.run({ items: [64] }, [tensor, 1], { after: fence });
  stranger.set(gate, -7);
  const error = await rejection(NativeCallError, fence.wait());
  assertEquals([error.code, error.fn], [-7, undefined]);
  assert(error.message.startsWith("Work submitted by other code ended with "), error.message);
  await rejection(InteropError, tensor[Symbol.asyncDispose]());
  thrown(NativeCallError, () => b.cl.queue.waitFor(fence));
  b.cl.queue.waitFor([]).waitSync();
  stranger.release(gate);
});

testEach("an attached event is held until it is seen over, or its fence is forgotten", async (platform) => {
  using b = bench(platform);
  const stranger = new Stranger(b.cl);
  const gate = stranger.userEvent();
  const before = referencesTo(gate);
  const { alive } = ledger;
  (() => void b.cl.attachEvent(gate))();
  assertEquals(referencesTo(gate), before + 1);
  await collect();
  assertHeld(() => referencesTo(gate), before);
  assertEquals(ledger.alive, alive);
  const fence = b.cl.attachEvent(gate);
  assertEquals(referencesTo(gate), before + 1);
  stranger.set(gate);
  assert(fence.reached());
  assertHeld(() => referencesTo(gate), before);
  assertEquals(ledger.alive, alive);
  stranger.release(gate);
});

testEach("a user event that was set is seen at once, without a turn of the event loop", (platform) => {
  using b = bench(platform);
  const stranger = new Stranger(b.cl);
  using tensor = b.cl.allocate({ shape: [64], dtype: "u8" });
  const gate = stranger.userEvent();
  b.kernels.fill.run({ items: [64] }, [tensor, 1], { after: b.cl.attachEvent(gate) });
  thrown(AccessError, () => b.cl.queue.finish());
  stranger.set(gate);
  stranger.release(gate);
  b.cl.queue.finish();
  assertBytes(contents(b.cl, tensor), filled(64, 1));
});

testEach("an attached event outlives its context's object", async (platform) => {
  const cl = open(platform);
  const stranger = new Stranger(cl);
  const raw = stranger.queue();
  const tensor = cl.allocate({ shape: [64], dtype: "u8" });
  const event = stranger.fill(raw, tensor, 1);
  const fence = cl.attachEvent(event);
  tensor.usedBy(fence);
  stranger.release(event);
  stranger.end(raw);
  cl[Symbol.dispose]();
  await fence.wait();
  assert(fence.reached());
});

testEach("anything but a handle, or of another context, is refused", (platform) => {
  using b = bench(platform);
  using other = open(platform);
  // deno-lint-ignore no-explicit-any -- what JavaScript passes
  for (const handle of [0n, -1n, 2n ** 64n, 5, "5", null, undefined, {}] as any[]) {
    assertEquals(thrown(ArgumentError, () => b.cl.attachQueue(handle)).argument, "handle");
    assertEquals(thrown(ArgumentError, () => b.cl.attachEvent(handle)).argument, "handle");
  }
  const before = references(other.queue.handle);
  assertEquals(thrown(ArgumentError, () => b.cl.attachQueue(other.queue.handle)).argument, "handle");
  assertHeld(() => references(other.queue.handle), before);
  const gate = new Stranger(other).userEvent();
  assertEquals(thrown(ArgumentError, () => b.cl.attachEvent(gate)).argument, "handle");
  assertHeld(() => referencesTo(gate), 1);
  // In C too: NVIDIA's driver never comes back from the end of a context one of whose user events was released unset.
  new Stranger(other).set(gate);
  new Stranger(other).release(gate);
  const raw = b.cl.queue.handle;
  b.cl[Symbol.dispose]();
  thrown(DisposedError, () => b.cl.attachQueue(raw));
  thrown(DisposedError, () => b.cl.attachEvent(raw));
});

testFailing("the end of a context fails what waits for a user event of others", async (platform) => {
  const b = bench(platform);
  const stranger = new Stranger(b.cl);
  const gate = stranger.userEvent();
  const tensor = b.cl.allocate({ shape: [64], dtype: "u8" });
  b.kernels.fill.run({ items: [64] }, [tensor, 1], { after: b.cl.attachEvent(gate) });
  await rejection(InteropError, b.cl[Symbol.asyncDispose]());
  assertEquals(tensor.resource.state, "freed");
  stranger.set(gate);
  stranger.release(gate);
});

testEach("the process ends with attached events that are never set", async (platform) => {
  const lines = await linesOf(
    `
    const { opencl } = await import("${new URL("../../src/opencl/library.ts", import.meta.url)}");
    const { cl, kernels } = help.bench("${platform}");
    const code = new Int32Array(1);
    const event = opencl().clCreateUserEvent(cl.handle, code);
    const tensor = cl.allocate({ shape: [64], dtype: "u8" });
    kernels.fill.run({ items: [64] }, [tensor, 1], { after: cl.attachEvent(event) });
    try { cl.queue.finish(); } catch (error) { console.log(error.name); }
  `,
  );
  assertEquals(lines, ["AccessError"]);
});

test(
  "a context ends with failed work behind others' work: PoCL looks at that when the others' is done",
  ["pocl"],
  async () => {
    const b = bench("pocl");
    const stranger = new Stranger(b.cl);
    const raw = stranger.queue();
    const userEvent = stranger.userEvent();
    const theirs = b.cl.allocate({ shape: [64], dtype: "u8" });
    const event = stranger.fill(raw, theirs, 1, userEvent);
    const fence = b.cl.attachEvent(event);
    using opening = gate();
    const tensor = b.cl.allocate({ shape: [64], dtype: "u8" });
    for (let i = 0; i < 4; i++) b.kernels.fill.run({ items: [64] }, [tensor, 1], { after: [fence, opening.fence] });
    const failed = b.cl.queue.fence();
    await opening.fail();
    await rejection(InteropError, failed.wait());
    thrown(InteropError, () => b.cl[Symbol.dispose]());
    stranger.set(userEvent);
    stranger.end(raw);
    stranger.release(userEvent, event);
    await fence.wait();
    using other = open("pocl");
    other.queue.waitFor([]).waitSync(); // the next call releases what was left
  },
);
