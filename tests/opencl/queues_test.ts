import { OpenCLFence } from "../../src/opencl/event.ts";
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
import type { OpenCLContext, OpenCLDevice, OpenCLQueue, OpenCLTensor } from "@samepage/interop/opencl";
import {
  ALL,
  assertBytes,
  type Bench,
  bench,
  deviceOf,
  filled,
  HERE,
  LONG,
  type Platform,
  rejection,
  sleep,
  SOURCE,
  test,
  testEach,
  testFailing,
  thrown,
  until,
  whereWorkCannotFail,
} from "./help.ts";
import { runModule } from "../process.ts";
import { FakeFence, FakeWork } from "../unit/fakes.ts";

/** Bytes of the context's own, all 0. */
function zeroed(cl: OpenCLContext, byteLength: number): OpenCLTensor {
  const tensor = cl.allocate({ shape: [byteLength], dtype: "u8" });
  cl.queue.write(tensor, new Uint8Array(byteLength));
  return tensor;
}

function contents(queue: OpenCLQueue, tensor: OpenCLTensor): Uint8Array {
  const bytes = new Uint8Array(tensor.layout.byteLength);
  queue.read(tensor, bytes);
  return bytes;
}

/**
 * Platforms whose device runs commands out of order: PoCL's does, rusticl's says that it cannot. NVIDIA's (580.159) says
 * that it can, and runs them in order: what is to overtake a command that waits is waited for without an end.
 */
const OUT_OF_ORDER = ALL.filter((platform) =>
  platform === "pocl" || (platform !== "nvidia" && queuesOf(platform)?.outOfOrder)
);
const IN_ORDER = ALL.filter((platform) => platform === "rusticl" || queuesOf(platform)?.outOfOrder === false);

function queuesOf(platform: Platform): OpenCLDevice["queues"] | undefined {
  return HERE.includes(platform) ? deviceOf(platform).queues : undefined;
}

function outOfOrder(
  name: string,
  run: (b: Bench, queue: OpenCLQueue) => void | Promise<void>,
  reason: (platform: Platform) => string | undefined = () => undefined,
): void {
  for (const platform of OUT_OF_ORDER) {
    test(`${platform}, out of order: ${name}`, [platform], async () => {
      await using b = bench(platform);
      using queue = b.cl.createQueue({ order: "out-of-order" });
      assertEquals(queue.order, "out-of-order");
      await run(b, queue);
    }, reason(platform));
  }
}

for (const platform of IN_ORDER) {
  test(`${platform}: a device that cannot run commands out of order says so`, [platform], () => {
    using b = bench(platform);
    const error = thrown(ArgumentError, () => b.cl.createQueue({ order: "out-of-order" }));
    assertEquals([error.argument, error.api], ["order", "opencl"]);
    assert(error.message.includes("in order only"), error.message);
  });
}

testEach("what createQueue cannot understand is refused", (platform) => {
  using b = bench(platform);
  // deno-lint-ignore no-explicit-any -- what JavaScript passes
  const create = (options: any) => () => b.cl.createQueue(options);
  for (const order of ["", "outOfOrder", 1, null, {}, "toString", Symbol.iterator]) {
    assertEquals(thrown(ArgumentError, create({ order })).argument, "order");
  }
  for (const profiling of [1, "yes", null, {}]) {
    assertEquals(thrown(ArgumentError, create({ profiling })).argument, "profiling");
  }
  for (const options of [null, 5, "in-order"]) thrown(ArgumentError, create(options));
  using queue = b.cl.createQueue();
  assertEquals([queue.order, queue.profiling], ["in-order", false]);
});

test(
  "pocl: a queue, a kernel and a program end asynchronously too; the event loop turns meanwhile",
  ["pocl"],
  async () => {
    await using b = bench("pocl"); // rusticl's flush may not come back before the work is done
    const tensor = zeroed(b.cl, 4096);
    const program = b.cl.program(SOURCE);
    const slow = program.kernel("slow");
    const queue = b.cl.createQueue();
    slow.run([4096], [tensor, 1, LONG], { queue });
    let turned = false;
    setTimeout(() => turned = true, 0);
    await queue[Symbol.asyncDispose]();
    assert(turned);
    for (const object of [slow, program]) await object[Symbol.asyncDispose]();
    assertEquals([queue, slow, program].map(({ resource }) => resource.state), ["freed", "freed", "freed"]);
    thrown(DisposedError, () => queue.handle);
  },
);

outOfOrder("a command overtakes one that waits, and its fence says so", async (b, queue) => {
  using event = b.cl.userEvent();
  using first = zeroed(b.cl, 64);
  using second = zeroed(b.cl, 64);
  b.kernels.add.run([64], [first, 1], { queue, after: event.fence });
  using waiting = queue.lastCommand();
  b.kernels.add.run([64], [second, 2], { queue });
  using overtaking = queue.lastCommand();
  using all = queue.fence();
  await overtaking.wait();
  overtaking.waitSync(); // no user event is in its way
  assert(!waiting.reached() && !all.reached());
  thrown(AccessError, () => waiting.waitSync());
  thrown(AccessError, () => all.waitSync());
  assertBytes(contents(b.cl.queue, second), new Uint8Array(64).fill(2));
  event.complete();
  all.waitSync();
  assert(waiting.reached());
  assertBytes(contents(b.cl.queue, first), new Uint8Array(64).fill(1));
});

outOfOrder("work on one tensor is done in the order in which it was submitted", (b, queue) => {
  using tensor = zeroed(b.cl, 2048);
  const expected = new Uint8Array(2048);
  for (let i = 0; i < 60; i++) {
    const on = { queue: i % 7 === 0 ? b.cl.queue : queue };
    if (i % 3 === 0) b.kernels.doubleIt.run([2048], [tensor], on);
    else b.kernels.slow.run([2048], [tensor, i, i % 5 === 0 ? LONG / 8 : 1], on);
    expected.forEach((byte, at) => expected[at] = i % 3 === 0 ? byte * 2 : byte + i);
  }
  assertBytes(contents(queue, tensor), expected);
});

outOfOrder(
  "commands that wait for each other are a chain: whoever comes next waits for the last of them",
  (b, queue) => {
    using event = b.cl.userEvent();
    using one = zeroed(b.cl, 64);
    using two = zeroed(b.cl, 64);
    one.usedBy(event.fence);
    two.usedBy(event.fence);
    for (let i = 0; i < 100; i++) {
      queue.fill(one, i);
      queue.fill(two, i);
    }
    // The event, which was declared, and the fills: those of one go on with its chain.
    assertEquals([one.work.length, two.work.length], [2, 2]);
    queue.copy(one, two);
    using copied = queue.lastCommand();
    assertEquals(one.work.map(({ line }) => line), [copied.line, copied.line]);
    event.complete();
    assertBytes(contents(b.cl.queue, two), new Uint8Array(64).fill(99));
  },
);

outOfOrder("reading and writing it: each waits for what the other did to the tensor", (b, queue) => {
  using from = zeroed(b.cl, 4096);
  using to = zeroed(b.cl, 4096);
  for (let i = 0; i < 20; i++) {
    b.kernels.slow.run([4096], [from, 1, LONG / 8], { queue });
    b.kernels.xorFrom.run([4096], [to, from, 0x5a], { queue });
  }
  assertBytes(contents(queue, to), new Uint8Array(4096).fill(20 ^ 0x5a));
});

outOfOrder("a map, and its way back, wait for work on it", async (b, queue) => {
  using source = host.allocate({ shape: [4096], dtype: "u8" });
  {
    await using mapped = b.graph.map(source, b.cl);
    b.kernels.slow.run([4096], [mapped, 3, LONG], { queue });
  }
  assertBytes(source.view(), new Uint8Array(4096).fill(3));
});

outOfOrder("the end of the queue, finish() and fence() wait for all of it", async (b, queue) => {
  const tensors = Array.from({ length: 8 }, () => zeroed(b.cl, 2048));
  const submit = (on: OpenCLQueue) => {
    // The longest first: the last is done before it.
    tensors.forEach((tensor, i) => b.kernels.slow.run([2048], [tensor, 1, i === 0 ? 2 * LONG : 1], { queue: on }));
  };
  const busy = () => tensors.filter((tensor) => tensor.resource.busy).length;
  submit(queue);
  queue.finish();
  assertEquals(busy(), 0, "after finish");
  submit(queue);
  using fence = queue.fence();
  fence.waitSync();
  assertEquals(busy(), 0, "after fence");
  submit(queue);
  await queue.fence().wait();
  assertEquals(busy(), 0, "after awaiting a fence");
  const other = b.cl.createQueue({ order: "out-of-order" });
  submit(other);
  other[Symbol.dispose]();
  assertEquals(busy(), 0, "after its end");
  for (const tensor of tensors) {
    assertBytes(contents(queue, tensor), new Uint8Array(2048).fill(4));
    tensor[Symbol.dispose]();
  }
});

/** PoCL, with what rusticl 22.3 does at times: an earlier command's event says later than a later one's that it is over. */
const LATE = `
import { ledger } from "@samepage/interop";
import { setTap } from "${new URL("../../src/core/native/library.ts", import.meta.url)}";
import { CL_COMPLETE, CL_RUNNING } from "${new URL("../../ffi/opencl/constants.ts", import.meta.url)}";
const { OpenCLContext, OpenCLFence } = await import("@samepage/interop/opencl");
let late, lies = 20;
let functions;
setTap((_, real) => ({
  ...(functions = real),
  clGetEventInfo(event, what, size, out, ...rest) {
    const code = functions.clGetEventInfo(event, what, size, out, ...rest);
    if (event === late && out[0] === CL_COMPLETE && lies-- > 0) out[0] = CL_RUNNING;
    return code;
  },
}));
using cl = OpenCLContext.open({ platform: "portable" });
using queue = cl.createQueue();
{
  using first = queue.marker();
  using last = queue.marker();
  late = OpenCLFence.pointOf(first).event;
  functions.clFinish(queue.handle);
  console.log(last.reached(), lies < 20);
  last.waitSync();
  console.log(first.reached());
}
lies = 20;
queue.marker()[Symbol.dispose]();
{
  using third = queue.marker();
  late = OpenCLFence.pointOf(third).event;
}
queue.marker()[Symbol.dispose]();
queue.finish();
console.log(lies, ledger.alive["opencl.cl_event"]);
`;

test("in order, a command is over once those in front of it are, whichever event says so first", ["pocl"], async () => {
  const { code, stdout, stderr } = await runModule(LATE);
  assertEquals([code, stdout.trim().split("\n")], [0, ["false true", "true", "-1 undefined"]], stderr);
});

outOfOrder("fence() makes one marker until something else is submitted", (b, queue) => {
  using tensor = zeroed(b.cl, 64);
  b.kernels.add.run([64], [tensor, 1], { queue });
  using one = queue.fence();
  using two = queue.fence();
  assertEquals(OpenCLFence.pointOf(one), OpenCLFence.pointOf(two));
  b.kernels.add.run([64], [tensor, 1], { queue });
  using three = queue.fence();
  assert(OpenCLFence.pointOf(three) !== OpenCLFence.pointOf(one));
  queue.finish();
});

outOfOrder("a barrier: what comes later waits for it, and for its user events", async (b, queue) => {
  using event = b.cl.userEvent();
  using first = zeroed(b.cl, 64);
  using second = zeroed(b.cl, 64);
  b.kernels.add.run([64], [first, 1], { queue, after: event.fence });
  using barrier = queue.barrier();
  b.kernels.add.run([64], [second, 2], { queue });
  using behind = queue.lastCommand();
  queue.flush();
  await sleep(30);
  assert(!barrier.reached() && !behind.reached());
  thrown(AccessError, () => behind.waitSync());
  thrown(AccessError, () => b.cl.queue.read(second, new Uint8Array(64)));
  event.complete();
  await behind.wait();
  assert(barrier.reached());
  assertBytes(contents(b.cl.queue, second), new Uint8Array(64).fill(2));
});

outOfOrder("a command that fails takes what stands behind it along, and nothing else", async (b, queue) => {
  using event = b.cl.userEvent();
  const doomed = zeroed(b.cl, 64);
  using spared = zeroed(b.cl, 64);
  b.kernels.add.run([64], [doomed, 1], { queue, after: event.fence });
  using failing = queue.lastCommand();
  using marker = queue.marker();
  using barrier = queue.barrier();
  b.kernels.add.run([64], [spared, 2], { queue });
  using behind = queue.lastCommand();
  event.fail();
  for (const fence of [failing, marker, barrier, behind]) await rejection(NativeCallError, fence.wait());
  thrown(InteropError, () => doomed[Symbol.dispose]());
  await until(() => !spared.resource.busy, "the command behind the barrier is over");
  b.kernels.add.run([64], [spared, 3], { queue });
  using after = queue.fence();
  await after.wait();
  assertEquals(
    thrown(NativeCallError, () => b.kernels.add.run([64], [spared, 1], { queue, after: failing })).api,
    "opencl",
  );
  thrown(NativeCallError, () => queue.marker([after, failing]));
  thrown(InteropError, () => spared[Symbol.dispose]());
}, whereWorkCannotFail);

outOfOrder("many commands behind one that waits: their events are let go of", (b, queue) => {
  using event = b.cl.userEvent();
  using stuck = zeroed(b.cl, 64);
  b.kernels.add.run([64], [stuck, 1], { queue, after: event.fence });
  for (let i = 0; i < 1000; i++) {
    using tensor = b.cl.allocate({ shape: [16], dtype: "u8" });
    b.kernels.fill.run([16], [tensor, i % 256], { queue });
  }
  const events = ledger.alive["opencl.cl_event"];
  assert(events < 200, `${events} events are held`);
  event.complete();
  queue.finish();
});

outOfOrder("a read, or finish(), of a queue with a command that waits for a user event never hangs", (b, queue) => {
  using event = b.cl.userEvent();
  using stuck = zeroed(b.cl, 64);
  using free = zeroed(b.cl, 64);
  b.kernels.add.run([64], [stuck, 1], { queue, after: event.fence });
  thrown(AccessError, () => queue.finish());
  thrown(AccessError, () => queue.read(free, new Uint8Array(64)));
  thrown(AccessError, () => queue.write(free, new Uint8Array(64)));
  thrown(AccessError, () => queue.readRect(free, new Uint8Array(64)));
  b.cl.queue.read(free, new Uint8Array(64));
  event.complete();
  queue.read(free, new Uint8Array(64));
});

outOfOrder("disposing the context in the middle of it", async (b, queue) => {
  const tensor = zeroed(b.cl, 2048);
  const event = b.cl.userEvent();
  b.kernels.slow.run([2048], [tensor, 1, LONG], { queue });
  b.kernels.add.run([2048], [tensor, 1], { queue, after: event.fence });
  queue.barrier();
  await rejection(InteropError, b.cl[Symbol.asyncDispose]());
  thrown(DisposedError, () => queue.fence());
  thrown(DisposedError, () => queue.lastCommand());
  thrown(DisposedError, () => queue.marker());
  thrown(DisposedError, () => queue.barrier());
}, whereWorkCannotFail);

/**
 * Commands that a driver puts into no queue: NVIDIA's (580.159) answers 0 for when, and when the one before was run;
 * Intel's (2026.2) answers a time before that of the one in front.
 */
const UNTIMED: { readonly [platform: string]: readonly string[] } = {
  nvidia: ["migrate", "barrier"],
  intel: ["marker", "barrier"],
};

for (const order of ["in-order", "out-of-order"] as const) {
  for (const platform of order === "in-order" ? ALL : OUT_OF_ORDER) {
    test(`${platform}: times of commands, ${order}`, [platform], async () => {
      using b = bench(platform);
      using queue = b.cl.createQueue({ order, profiling: true });
      assert(queue.profiling);
      using tensor = zeroed(b.cl, 2048);
      using other = b.cl.allocate({ shape: [2048], dtype: "u8" });
      const commands: Record<string, () => void> = {
        kernel: () => b.kernels.slow.run([2048], [tensor, 1, LONG / 8], { queue }),
        fill: () => queue.fill(tensor, 5),
        copy: () => queue.copy(tensor, other),
        migrate: () => queue.migrate([tensor], { to: "device" }),
        read: () => queue.read(tensor, new Uint8Array(2048)),
        marker: () => queue.marker()[Symbol.dispose](),
        barrier: () => queue.barrier()[Symbol.dispose](),
      };
      let earlier = 0n;
      for (const [name, submit] of Object.entries(commands)) {
        submit();
        using fence = queue.lastCommand();
        await fence.wait();
        const { queued, submitted, started, ended } = fence.times();
        if (UNTIMED[platform]?.includes(name)) {
          if (platform === "nvidia") assertEquals([queued, submitted], [0n, 0n], name);
          continue;
        }
        assert(earlier <= queued, `${name}: queued before the one in front of it`);
        assert(queued <= submitted && submitted <= started && started <= ended, name);
        assertEquals(fence.times(), { queued, submitted, started, ended });
        earlier = platform === "rusticl" ? 0n : queued; // rusticl 22.3 answers 0, 1, 2, 3
        if (name === "kernel" && platform === "pocl") assert(ended > started);
      }
    });
  }
}

testFailing(
  "times are refused before the end, without profiling, after a failure, of a disposed fence",
  async (platform) => {
    using b = bench(platform);
    using queue = b.cl.createQueue({ profiling: true });
    using event = b.cl.userEvent();
    using bad = b.cl.userEvent();
    using tensor = zeroed(b.cl, 64);
    b.kernels.add.run([64], [tensor, 1], { queue, after: event.fence });
    using fence = queue.fence();
    assertEquals(thrown(ArgumentError, () => fence.times()).argument, "fence");
    event.complete();
    fence.waitSync();
    const times = fence.times();
    const kept = fence.retain();
    assertEquals(kept.times(), times);
    kept[Symbol.dispose]();
    thrown(DisposedError, () => kept.times());
    assertEquals(thrown(ArgumentError, () => event.fence.times()).argument, "profiling");
    b.kernels.add.run([64], [tensor, 1]);
    using untimed = b.cl.queue.fence();
    untimed.waitSync();
    assertEquals(thrown(ArgumentError, () => untimed.times()).argument, "profiling");
    const doomed = b.cl.allocate({ shape: [64], dtype: "u8" });
    b.kernels.add.run([64], [doomed, 1], { queue, after: bad.fence });
    using failed = queue.fence();
    bad.fail(-5);
    await rejection(NativeCallError, failed.wait());
    thrown(NativeCallError, () => failed.times());
    thrown(InteropError, () => doomed[Symbol.dispose]());
    queue.marker().waitSync(); // the queue's end tells what became of the last command
  },
);

testEach("times are kept after the queue is gone", (platform) => {
  using b = bench(platform);
  const queue = b.cl.createQueue({ profiling: true });
  using tensor = zeroed(b.cl, 64);
  b.kernels.add.run([64], [tensor, 1], { queue });
  using fence = queue.fence();
  queue[Symbol.dispose]();
  const { started, ended } = fence.times();
  assert(started <= ended);
});

testEach("markers and barriers wait for fences of any kind", async (platform) => {
  using one = bench(platform);
  using other = bench(platform);
  using event = one.cl.userEvent();
  using elsewhere = other.cl.userEvent();
  using queue = one.cl.createQueue();
  using marker = queue.marker([event.fence, event.fence]);
  using barrier = queue.barrier(marker);
  assert(!marker.reached() && !barrier.reached());
  event.complete();
  await barrier.wait();
  assert(marker.reached());
  // Of another context: the host would wait for it, which could never end.
  thrown(AccessError, () => queue.marker([elsewhere.fence]));
  elsewhere.complete();
  using far = queue.marker([elsewhere.fence, marker]);
  far.waitSync();
  for (const nothing of [undefined, []]) {
    using all = queue.marker(nothing);
    all.waitSync();
  }
  using failed = one.cl.userEvent();
  failed.fail(-9);
  assertEquals(thrown(NativeCallError, () => queue.marker(failed.fence)).code, -9);
  assertEquals(thrown(NativeCallError, () => queue.barrier([far, failed.fence])).code, -9);
});

testEach("what a marker cannot wait for is refused", (platform) => {
  using b = bench(platform);
  // deno-lint-ignore no-explicit-any -- what JavaScript passes
  const marker = (after: any) => () => b.cl.queue.marker(after);
  for (const after of [null, 5, "x", {}, [undefined], [null], new Array(3), [Promise.resolve()], new Set()]) {
    thrown(ArgumentError, marker(after));
  }
  thrown(ArgumentError, marker(new Array(2 ** 32 - 1)));
  const gone = b.cl.queue.fence();
  gone[Symbol.dispose]();
  thrown(DisposedError, marker([gone]));
});

testEach("an element that disposes the queue, or another element", (platform) => {
  using b = bench(platform);
  const queue = b.cl.createQueue();
  using event = b.cl.userEvent();
  const first = event.fence.retain();
  const after = [first, event.fence];
  Object.defineProperty(after, 1, {
    get() {
      first[Symbol.dispose]();
      queue[Symbol.dispose]();
      return event.fence;
    },
  });
  thrown(DisposedError, () => queue.marker(after));
  event.complete();
});

testEach("fence() and lastCommand() are one on a queue that runs commands in order", (platform) => {
  using b = bench(platform);
  using queue = b.cl.createQueue();
  using empty = queue.lastCommand();
  empty.waitSync();
  using tensor = b.cl.allocate({ shape: [64], dtype: "u8" });
  b.kernels.fill.run([64], [tensor, 1], { queue });
  using one = queue.fence();
  using two = queue.lastCommand();
  assertEquals(OpenCLFence.pointOf(one), OpenCLFence.pointOf(two));
  one.waitSync();
  assertBytes(contents(queue, tensor), filled(64, 1));
});

testEach("a kernel runs after all that it is told to wait for", async (platform) => {
  using b = bench(platform);
  using tensor = zeroed(b.cl, 64);
  const events = [b.cl.userEvent(), b.cl.userEvent()];
  using queue = b.cl.createQueue();
  b.kernels.fill.run([64], [tensor, 7], { queue, after: events.map((event) => event.fence) });
  using done = queue.lastCommand();
  for (const event of events) {
    assert(!done.reached());
    event.complete();
  }
  await done.wait();
  assertBytes(contents(queue, tensor), filled(64, 7));
  // deno-lint-ignore no-explicit-any -- what JavaScript passes
  thrown(ArgumentError, () => b.kernels.fill.run([64], [tensor, 1], { after: [done, 5] as any }));
  for (const event of events) event[Symbol.dispose]();
});

for (const way of ["declared", "after"] as const) {
  testEach(`what a program's own fence submits while it is waited for comes first too (${way})`, (platform) => {
    using b = bench(platform);
    using from = zeroed(b.cl, 2048);
    using to = zeroed(b.cl, 2048);
    using elsewhere = b.cl.createQueue();
    class Busy extends FakeFence {
      override retain(): Busy {
        return new Busy(this.work);
      }
      override waitSync(): void {
        super.waitSync();
        b.kernels.slow.run([2048], [from, 1, LONG], { queue: elsewhere });
      }
    }
    using fence = new Busy(new FakeWork());
    if (way === "declared") {
      from.usedBy(fence);
      b.cl.queue.copy(from, to);
    } else {
      b.kernels.xorFrom.run([2048], [to, from, 0], { after: fence });
    }
    assertBytes(contents(b.cl.queue, to), new Uint8Array(2048).fill(1));
  });
}
