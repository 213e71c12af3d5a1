import { assert, assertEquals, assertInstanceOf, assertStrictEquals } from "@std/assert";
import {
  AccessError,
  DisposedError,
  host,
  type HostTensor,
  InteropError,
  NativeCallError,
  region,
} from "@samepage/interop";
import {
  assertBytes,
  type Bench,
  bench,
  filled,
  gate,
  LONG,
  open,
  type Platform,
  randomTensor,
  rejection,
  sleep,
  testEach,
  testFailing,
  thrown,
  until,
} from "./help.ts";

/** A context with a source of 4096 random bytes. */
function stage(platform: Platform): Bench & { source: HostTensor<"u8">; bytes: Uint8Array } {
  const b = bench(platform);
  const { tensor: source, bytes } = randomTensor(4096);
  const end = () => {
    source[Symbol.dispose]();
    b[Symbol.dispose]();
  };
  return { ...b, source, bytes, [Symbol.dispose]: end, [Symbol.asyncDispose]: () => Promise.resolve(end()) };
}

testEach("a fence: reached, wait, waitSync", async (platform) => {
  using b = stage(platform);
  using mapped = b.graph.map(b.source, b.cl);
  b.kernels.slow.run({ items: [4096] }, [mapped, 1, LONG]);
  const fence = b.cl.queue.fence();
  await fence.wait();
  assert(fence.reached());
  fence.waitSync();
  await fence.wait();
  b.kernels.slow.run({ items: [4096] }, [mapped, 1, LONG]);
  const second = b.cl.queue.fence();
  second.waitSync();
  assert(second.reached());
});

testEach("a signal ends the waiting, not the work", async (platform) => {
  using b = stage(platform);
  using event = gate();
  {
    await using mapped = b.graph.map(b.source, b.cl);
    b.kernels.fill.run({ items: [4096] }, [mapped, 5], { after: event.fence });
    const fence = b.cl.queue.fence();
    await rejection(RangeError, fence.wait({ signal: AbortSignal.abort(new RangeError("enough")) }));
    const stop = new AbortController();
    const waiting = fence.wait({ signal: stop.signal });
    stop.abort(new RangeError("enough"));
    await rejection(RangeError, waiting);
    await event.complete();
    await fence.wait({ signal: new AbortController().signal });
  }
  assertBytes(b.source.view(), filled(4096, 5));
});

testEach("a queue that was given nothing has a fence, that is soon reached", async (platform) => {
  using b = bench(platform);
  using queue = b.cl.createQueue();
  const fence = queue.fence();
  await fence.wait();
  queue.flush();
  queue.finish();
});

testEach("what a promise rejects with is what a fence behind it throws", async (platform) => {
  using b = stage(platform);
  using event = gate();
  const error = new RangeError("no");
  await event.fail(error);
  assertStrictEquals(thrown(RangeError, () => event.fence.reached()), error);
  assertStrictEquals(thrown(RangeError, () => event.fence.waitSync()), error);
  assertStrictEquals(await rejection(RangeError, event.fence.wait()), error);
  assertStrictEquals(thrown(RangeError, () => b.cl.queue.waitFor(event.fence)), error);
});

testEach("a wait that could never end is an AccessError; awaited, it ends once the event is set", async (platform) => {
  using b = stage(platform);
  using event = gate();
  const mapped = b.graph.map(b.source, b.cl);
  b.kernels.fill.run({ items: [4096] }, [mapped, 8], { after: event.fence });
  const fence = b.cl.queue.fence();
  using other = b.cl.createQueue();
  using elsewhere = b.cl.allocate({ shape: [16], dtype: "u8" });
  b.kernels.fill.run({ items: [16] }, [elsewhere, 8], { after: fence, queue: other });
  for (
    const action of [
      () => event.fence.waitSync(),
      () => fence.waitSync(),
      () => b.cl.queue.finish(),
      () => other.finish(),
      () => b.cl.queue.read(elsewhere, new Uint8Array(16)),
      () => other.read(elsewhere, new Uint8Array(16)),
      () => b.graph.map(elsewhere, host),
      () => b.graph.map(mapped, host),
    ]
  ) thrown(AccessError, action);
  thrown(AccessError, () => mapped[Symbol.dispose]());
  const ended = mapped[Symbol.asyncDispose]();
  const waits = [fence.wait(), event.fence.wait(), ended];
  await event.complete();
  await Promise.all(waits);
  assertBytes(b.source.view(), filled(4096, 8));
  const got = new Uint8Array(16);
  b.cl.queue.read(elsewhere, got);
  assertBytes(got, filled(16, 8));
});

testFailing("a promise that rejects fails the work behind it; nothing hangs", async (platform) => {
  using b = stage(platform);
  using event = gate();
  const mapped = b.graph.map(b.source, b.cl);
  b.kernels.fill.run({ items: [4096] }, [mapped, 8], { after: event.fence });
  const fence = b.cl.queue.fence();
  const waiting = rejection(NativeCallError, fence.wait());
  await event.fail();
  await waiting;
  thrown(InteropError, () => mapped[Symbol.dispose]());
  assertBytes(b.source.view(), b.bytes);
});

testFailing(
  "work behind a signal() that fails throws once, with the promise's error as its cause",
  async (platform) => {
    using b = stage(platform);
    const boom = new Error("boom");
    const { promise, reject } = Promise.withResolvers<void>();
    using mapped = b.graph.map(b.source, b.cl);
    b.kernels.fill.run({ items: [4096] }, [mapped, 8], { after: host.signal(promise) });
    reject(boom);
    const error = await rejection(NativeCallError, mapped.finished());
    assertStrictEquals(error.cause, boom);
    assert(error.message.endsWith("It waited for something that failed: boom"), error.message);
  },
); // the dispose throws nothing

testFailing("a failed command: dispose gives the memory back, then throws", async (platform) => {
  using b = stage(platform);
  for (const how of ["dispose", "asyncDispose"] as const) {
    using event = gate();
    const mapped = b.graph.map(b.source, b.cl);
    b.kernels.fill.run({ items: [4096] }, [mapped, 8], { after: event.fence });
    await event.fail();
    if (how === "dispose") thrown(InteropError, () => mapped[Symbol.dispose]());
    else await rejection(InteropError, mapped[Symbol.asyncDispose]());
    mapped[Symbol.dispose]();
    assertBytes(b.source.view(), b.bytes);
    using again = b.graph.map(b.source, b.cl);
    b.kernels.add.run({ items: [4096] }, [again, 0]);
  }
});

testFailing(
  "a failure after disposeAfter is kept, and thrown once by the next map, view or dispose",
  async (platform) => {
    using b = stage(platform);
    for (const next of ["map", "view", "dispose"] as const) {
      const { tensor: source } = randomTensor(64);
      using event = gate();
      const mapped = b.graph.map(source, b.cl);
      b.kernels.fill.run({ items: [64] }, [mapped, 8], { after: event.fence });
      const fence = b.cl.queue.fence();
      mapped.disposeAfter(fence);
      await event.fail();
      await until(() => mapped.resource.state === "freed", "the bytes come back");
      await sleep(1);
      if (next === "map") thrown(InteropError, () => b.graph.map(source, b.cl));
      if (next === "view") thrown(InteropError, () => source.view());
      if (next === "dispose") thrown(InteropError, () => source[Symbol.dispose]());
      else {
        source.view();
        using _ = b.graph.map(source, b.cl);
      }
      source[Symbol.dispose]();
    }
  },
);

for (const by of ["itself", "another queue"]) {
  testEach(`work is waited for while what was submitted behind it waits for a promise: by ${by}`, async (platform) => {
    await using cl = open(platform);
    await using between = cl.createQueue();
    await using words = cl.allocate({ shape: [64], dtype: "u8" });
    await using others = cl.allocate({ shape: [64], dtype: "u8" });
    const { promise, resolve } = Promise.withResolvers<void>();
    using opened = new DisposableStack();
    opened.defer(resolve);
    for (const value of [1, 2]) cl.queue.fill(words, value);
    const first = cl.queue.fence();
    const gate = host.signal(promise);
    if (by !== "itself") between.fill(others, 2, { after: gate });
    cl.queue.fill(words, 3, { after: by === "itself" ? gate : between.fence() }); // rusticl ends what it is given at once together
    const settled = await Promise.race([first.wait().then(() => "over"), sleep(2_000).then(() => "held up")]);
    assertEquals(settled, "over");
    first.waitSync();
  });
}

testEach("a fence that was reached or failed before: after it", async (platform) => {
  using b = stage(platform);
  using good = gate();
  using bad = gate();
  await good.complete();
  await bad.fail();
  using own = b.cl.allocate({ shape: [64], dtype: "u8" });
  b.kernels.fill.run({ items: [64] }, [own, 1], { after: good.fence });
  thrown(RangeError, () => b.kernels.fill.run({ items: [64] }, [own, 2], { after: bad.fence }));
  thrown(RangeError, () => b.kernels.fill.run({ items: [64] }, [own, 2], { after: bad.fence })); // seen over by now
  const got = new Uint8Array(64);
  b.cl.queue.read(own, got);
  assertBytes(got, filled(64, 1));
});

testEach("usedBy: the end waits for work that samepage did not submit", async (platform) => {
  using b = stage(platform);
  using event = gate();
  const mapped = b.graph.map(b.source, b.cl);
  mapped.usedBy(event.fence);
  const ended = mapped[Symbol.asyncDispose]();
  await sleep(10);
  assertEquals(mapped.resource.state, "returning");
  thrown(AccessError, () => b.source.view());
  await event.complete();
  await ended;
  b.source.view();
});

testEach("usedBy on host memory: views wait, maps go behind it", async (platform) => {
  using b = stage(platform);
  using event = gate();
  b.source.usedBy(event.fence);
  thrown(AccessError, () => b.source.view());
  const mapped = b.graph.map(b.source, b.cl);
  assertEquals(mapped.route.steps[0].hostWait, false);
  b.kernels.fill.run({ items: [4096] }, [mapped, 3]);
  const fence = b.cl.queue.fence();
  assert(!fence.reached());
  await event.complete();
  await mapped[Symbol.asyncDispose]();
  assertBytes(b.source.view(), filled(4096, 3));
});

testEach("map after a fence: the device waits", async (platform) => {
  using b = stage(platform);
  using event = gate();
  const mapped = b.graph.map(b.source, b.cl, { after: event.fence });
  b.kernels.fill.run({ items: [4096] }, [mapped, 3]);
  const fence = b.cl.queue.fence();
  await sleep(20);
  assert(!fence.reached());
  await event.complete();
  await fence.wait();
  mapped[Symbol.dispose]();
  assertBytes(b.source.view(), filled(4096, 3));
});

testEach("several queues: each waits for what the others did to a tensor", (platform) => {
  using b = stage(platform);
  const queues = Array.from({ length: 4 }, () => b.cl.createQueue());
  const expected = b.bytes.slice();
  {
    using mapped = b.graph.map(b.source, b.cl);
    for (let i = 0; i < 40; i++) {
      const queue = queues[i % 4];
      if (i % 3 === 0) b.kernels.doubleIt.run({ items: [4096] }, [mapped], { queue });
      else b.kernels.add.run({ items: [4096] }, [mapped, i], { queue });
      expected.forEach((byte, at) => expected[at] = i % 3 === 0 ? byte * 2 : byte + i);
    }
  }
  assertBytes(b.source.view(), expected);
});

testEach("a slice waits for what was done to its parent, and the parent for the slice", (platform) => {
  using b = stage(platform);
  using queue = b.cl.createQueue();
  using own = b.cl.allocate({ shape: [4096], dtype: "u8" });
  b.cl.queue.write(own, new Uint8Array(4096));
  b.kernels.slow.run({ items: [4096] }, [own, 1, LONG], { queue });
  {
    using part = own.slice(region(own.layout, [0], [16]));
    b.kernels.doubleIt.run({ items: [16] }, [part]);
    b.kernels.slow.run({ items: [16] }, [part, 1, LONG]);
  }
  b.kernels.doubleIt.run({ items: [4096] }, [own], { queue });
  const got = new Uint8Array(4096);
  b.cl.queue.read(own, got);
  assertBytes(got, Uint8Array.from({ length: 4096 }, (_, i) => i < 16 ? 6 : 2));
});

testEach("a view of a slice waits for its parent's work", async (platform) => {
  using b = stage(platform);
  using event = gate();
  b.source.usedBy(event.fence);
  using part = b.source.slice(region(b.source.layout, [0], [16]));
  thrown(AccessError, () => part.view());
  await event.complete();
  part.view();
});

testEach("a frame waits for what was done to its planes", async (platform) => {
  const { imageInfo } = await import("@samepage/interop");
  using b = bench(platform);
  using queue = b.cl.createQueue();
  using frame = host.allocateFrame(imageInfo({ format: "NV12", width: 64, height: 64 }));
  using mapped = b.graph.map(frame, b.cl);
  b.kernels.slow.run({ items: [4096] }, [mapped.planes[0], 1, LONG], { queue });
  {
    using back = b.graph.map(mapped, host, { access: "read" });
    assert(back.planes[0].bytes().every((byte) => byte === 1), "mapped before the kernel was done");
  }
});

testEach("disposeAfter: the next map in the context waits on the device", async (platform) => {
  using b = stage(platform);
  using event = gate();
  const first = b.graph.map(b.source, b.cl);
  b.kernels.fill.run({ items: [4096] }, [first, 1], { after: event.fence });
  const fence = b.cl.queue.fence();
  first.disposeAfter(fence);
  thrown(DisposedError, () => first.handle);
  thrown(AccessError, () => b.source.view());
  assertEquals(b.graph.explain(b.source, b.cl).steps[0].hostWait, false);
  const second = b.graph.map(b.source, b.cl);
  b.kernels.add.run({ items: [4096] }, [second, 1]);
  await event.complete();
  await second[Symbol.asyncDispose]();
  await until(() => b.source.grant.state === "live", "the first map's end");
  assertBytes(b.source.view(), filled(4096, 1).map((byte) => byte + 1));
});

testFailing(
  "a writer that fails with its promise has not waited for another queue: later work and the end do",
  async (platform) => {
    using b = bench(platform);
    using other = b.cl.createQueue();
    const tensor = b.cl.allocate({ shape: [64], dtype: "u8" });
    using event = gate();
    b.kernels.slow.run({ items: [64] }, [tensor, 1, 1000 * LONG], { queue: other });
    const slow = other.fence();
    b.kernels.fill.run({ items: [64] }, [tensor, 5], { after: event.fence });
    const failed = b.cl.queue.fence();
    await event.fail();
    await rejection(NativeCallError, failed.wait());
    b.kernels.fill.run({ items: [64] }, [tensor, 6]);
    const later = b.cl.queue.fence();
    later.waitSync();
    assert(slow.reached());
    thrown(NativeCallError, () => tensor[Symbol.dispose]());
  },
);

testFailing(
  "what waits for a command that failed with a promise, before what came before that, comes to an end",
  async (platform) => {
    using b = bench(platform);
    const { cl, kernels: { fill } } = b;
    const [one, two] = [cl.queue, cl.createQueue()];
    const [first, second] = [gate(), gate()];
    const [a, c] = [0, 1].map(() => cl.allocate({ shape: [64], dtype: "u8" }));
    fill.run({ items: [64] }, [a, 1], { queue: one, after: first.fence });
    fill.run({ items: [64] }, [c, 1], { queue: two, after: second.fence });
    fill.run({ items: [64] }, [a, 2], { queue: two }); // behind both
    fill.run({ items: [64] }, [a, 3], { queue: one }); // behind that
    await second.fail(); // which fails all but the first
    const third = cl.createQueue();
    fill.run({ items: [64] }, [a, 4], { queue: third });
    const last = third.fence();
    assert(!last.reached());
    await first.complete();
    // A driver that reports the failure only once the first is over (NVIDIA's) fails what waits for it, too.
    await last.wait().catch((error) => assertInstanceOf(error, InteropError));
    for (const tensor of [a, c]) await rejection(InteropError, tensor[Symbol.asyncDispose]());
    for (const queue of [two, third]) await queue[Symbol.asyncDispose]().catch(() => {});
    // The first question to this queue may report the failure; what comes after that is to be trusted.
    await one.fence().wait().catch((error) => assertInstanceOf(error, InteropError));
    await one.waitFor([]).wait();
  },
);

testFailing("a writer behind a command that failed before what came before that throws its error", async (platform) => {
  using b = bench(platform);
  const { cl, kernels: { fill, slow } } = b;
  const [queue, another] = [cl.createQueue(), cl.createQueue()];
  using event = gate();
  const busy = cl.allocate({ shape: [64], dtype: "u8" });
  const tensor = cl.allocate({ shape: [64], dtype: "u8" });
  slow.run({ items: [64] }, [busy, 1, 1000 * LONG], { queue });
  fill.run({ items: [64] }, [tensor, 1], { queue, after: event.fence });
  await event.fail();
  fill.run({ items: [64] }, [tensor, 2], { queue: another }); // stands behind the slow one
  thrown(NativeCallError, () => tensor[Symbol.dispose]());
  // rusticl fails what comes after a failed command, PoCL does not.
  for (const each of [busy, queue, another]) await each[Symbol.asyncDispose]().catch(() => {});
});

testFailing(
  "a command that is to come after one that failed before what came before that fails, too",
  async (platform) => {
    using b = bench(platform);
    const { cl, kernels: { fill } } = b;
    const [one, two] = [cl.queue, cl.createQueue()];
    const [first, second] = [gate(), gate()];
    const apart = cl.allocate({ shape: [64], dtype: "u8" });
    const tensor = cl.allocate({ shape: [64], dtype: "u8" });
    fill.run({ items: [64] }, [tensor, 1], { queue: one, after: first.fence });
    fill.run({ items: [64] }, [tensor, 2], { queue: two, after: second.fence }); // behind both
    const after = two.fence();
    await second.fail(); // the first is not over
    const third = cl.createQueue();
    const run = async () => {
      fill.run({ items: [64] }, [apart, 3], { queue: third, after }); // PoCL's is refused, since that has failed already
      await first.complete();
      await third.fence().wait();
    };
    await rejection(InteropError, run());
    await first.complete();
    await rejection(InteropError, after.wait());
    await rejection(InteropError, tensor[Symbol.asyncDispose]());
    for (const each of [apart, two, third]) await each[Symbol.asyncDispose]().catch(() => {});
  },
);
