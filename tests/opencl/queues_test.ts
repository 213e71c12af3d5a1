import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  InteropError,
  ledger,
  NativeCallError,
} from "@samepage/interop";
import type { OpenCLContext, OpenCLQueue, OpenCLTensor } from "@samepage/interop/opencl";
import {
  ALL,
  assertBytes,
  bench,
  filled,
  gate,
  LONG,
  rejection,
  sleep,
  SOURCE,
  test,
  testEach,
  testFailing,
  thrown,
} from "./help.ts";
import { runModule } from "../process.ts";

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

testEach("what createQueue cannot understand is refused", (platform) => {
  using b = bench(platform);
  // deno-lint-ignore no-explicit-any -- what JavaScript passes
  const create = (options: any) => () => b.cl.createQueue(options);
  for (const profiling of [1, "yes", null, {}]) {
    assertEquals(thrown(ArgumentError, create({ profiling })).argument, "profiling");
  }
  for (const options of [null, 5, "in-order", { order: "out-of-order" }]) thrown(ArgumentError, create(options));
  using queue = b.cl.createQueue();
  assertEquals(queue.profiling, false);
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
    slow.run({ items: [4096] }, [tensor, 1, LONG], { queue });
    let turned = false;
    setTimeout(() => turned = true, 0);
    await queue[Symbol.asyncDispose]();
    assert(turned);
    for (const object of [slow, program]) await object[Symbol.asyncDispose]();
    assertEquals([queue, slow, program].map(({ resource }) => resource.state), ["freed", "freed", "freed"]);
    thrown(DisposedError, () => queue.handle);
  },
);

testEach("queues overlap: a command on one does not wait for one on another", async (platform) => {
  using b = bench(platform);
  using queue = b.cl.createQueue();
  using event = gate();
  using first = zeroed(b.cl, 64);
  using second = zeroed(b.cl, 64);
  b.kernels.add.run({ items: [64] }, [first, 1], { queue, after: event.fence });
  const waiting = queue.fence();
  b.kernels.add.run({ items: [64] }, [second, 2]);
  const overtaking = b.cl.queue.fence();
  await overtaking.wait();
  overtaking.waitSync(); // no promise is in its way
  assert(!waiting.reached());
  thrown(AccessError, () => waiting.waitSync());
  assertBytes(contents(b.cl.queue, second), new Uint8Array(64).fill(2));
  await event.complete();
  waiting.waitSync();
  assertBytes(contents(b.cl.queue, first), new Uint8Array(64).fill(1));
});

testEach("work on one tensor is done in the order in which it was submitted, whatever the queues", (platform) => {
  using b = bench(platform);
  const queues = [b.cl.queue, b.cl.createQueue(), b.cl.createQueue()];
  using tensor = zeroed(b.cl, 2048);
  const expected = new Uint8Array(2048);
  for (let i = 0; i < 60; i++) {
    const on = { queue: queues[i % 7 === 0 ? 0 : 1 + i % 2] };
    if (i % 3 === 0) b.kernels.doubleIt.run({ items: [2048] }, [tensor], on);
    else b.kernels.slow.run({ items: [2048] }, [tensor, i, i % 5 === 0 ? LONG / 8 : 1], on);
    expected.forEach((byte, at) => expected[at] = i % 3 === 0 ? byte * 2 : byte + i);
  }
  assertBytes(contents(queues[1], tensor), expected);
});

testEach("reading and writing a tensor on two queues: each waits for what the other did", (platform) => {
  using b = bench(platform);
  using queue = b.cl.createQueue();
  using from = zeroed(b.cl, 4096);
  using to = zeroed(b.cl, 4096);
  for (let i = 0; i < 20; i++) {
    b.kernels.slow.run({ items: [4096] }, [from, 1, LONG / 8], { queue });
    b.kernels.xorFrom.run({ items: [4096] }, [to, from, 0x5a]);
  }
  assertBytes(contents(queue, to), new Uint8Array(4096).fill(20 ^ 0x5a));
});

testEach("a map, and its way back, wait for work on another queue", async (platform) => {
  using b = bench(platform);
  using queue = b.cl.createQueue();
  using source = host.allocate({ shape: [4096], dtype: "u8" });
  {
    await using mapped = b.graph.map(source, b.cl);
    b.kernels.slow.run({ items: [4096] }, [mapped, 3, LONG], { queue });
  }
  assertBytes(source.view(), new Uint8Array(4096).fill(3));
});

testEach("the end of a queue, finish() and fence() wait for all of it", async (platform) => {
  using b = bench(platform);
  using queue = b.cl.createQueue();
  const tensors = Array.from({ length: 8 }, () => zeroed(b.cl, 2048));
  const submit = (on: OpenCLQueue) => {
    tensors.forEach((tensor, i) =>
      b.kernels.slow.run({ items: [2048] }, [tensor, 1, i === 0 ? 2 * LONG : 1], { queue: on })
    );
  };
  const busy = () => tensors.filter((tensor) => tensor.resource.busy).length;
  submit(queue);
  queue.finish();
  assertEquals(busy(), 0, "after finish");
  submit(queue);
  queue.fence().waitSync();
  assertEquals(busy(), 0, "after fence");
  submit(queue);
  await queue.fence().wait();
  assertEquals(busy(), 0, "after awaiting a fence");
  const other = b.cl.createQueue();
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
const { OpenCLContext } = await import("@samepage/interop/opencl");
let late, lies = 20;
let functions;
setTap((_, real) => ({
  ...(functions = real),
  clGetEventInfo(event, what, size, out, ...rest) {
    const code = functions.clGetEventInfo(event, what, size, out, ...rest);
    const status = new Int32Array(Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(out), 4));
    if (event === late && status[0] === CL_COMPLETE && lies-- > 0) status[0] = CL_RUNNING;
    return code;
  },
}));
using cl = OpenCLContext.open({ platform: "portable" });
using queue = cl.createQueue();
{
  const first = queue.waitFor([]);
  late = queue.line.lane.eventAt(first.mark);
  const last = queue.waitFor([]);
  functions.clFinish(queue.handle);
  console.log(last.reached(), lies < 20);
  last.waitSync();
  console.log(first.reached());
}
lies = 20;
queue.waitFor([]);
late = queue.line.lane.eventAt(queue.waitFor([]).mark);
queue.waitFor([]);
queue.finish();
console.log(lies, ledger.alive["opencl.cl_event"]);
`;

test("a command is over once those in front of it are, whichever event says so first", ["pocl"], async () => {
  const { code, stdout, stderr } = await runModule(LATE);
  assertEquals([code, stdout.trim().split("\n")], [0, ["false true", "true", "-1 undefined"]], stderr);
});

testEach("waitFor(): what comes later waits for it, and for its promises", async (platform) => {
  using b = bench(platform);
  using queue = b.cl.createQueue();
  using event = gate();
  using tensor = zeroed(b.cl, 64);
  const behind = queue.waitFor(event.fence);
  b.kernels.add.run({ items: [64] }, [tensor, 2], { queue });
  const done = queue.fence();
  queue.flush();
  await sleep(30);
  assert(!behind.reached() && !done.reached());
  thrown(AccessError, () => done.waitSync());
  thrown(AccessError, () => b.cl.queue.read(tensor, new Uint8Array(64)));
  await event.complete();
  await done.wait();
  assert(behind.reached());
  assertBytes(contents(b.cl.queue, tensor), new Uint8Array(64).fill(2));
});

testFailing("a command that fails takes what stands behind it along, and nothing else", async (platform) => {
  using b = bench(platform);
  const queue = b.cl.createQueue();
  using event = gate();
  const doomed = zeroed(b.cl, 64);
  using spared = zeroed(b.cl, 64);
  b.kernels.add.run({ items: [64] }, [doomed, 1], { queue, after: event.fence });
  const failing = queue.fence();
  const behind = b.cl.queue.waitFor(failing);
  using other = b.cl.createQueue();
  b.kernels.add.run({ items: [64] }, [spared, 2], { queue: other });
  const waits = [failing, behind].map((fence) => rejection(NativeCallError, fence.wait()));
  await event.fail();
  await Promise.all(waits);
  other.finish();
  thrown(InteropError, () => doomed[Symbol.dispose]());
  b.kernels.add.run({ items: [64] }, [spared, 3]);
  await b.cl.queue.fence().wait();
  assertBytes(contents(other, spared), new Uint8Array(64).fill(5));
  const refused = thrown(NativeCallError, () => b.kernels.add.run({ items: [64] }, [spared, 1], { after: failing }));
  assertEquals([refused.api, refused.fn], ["opencl", "clEnqueueNDRangeKernel"]);
  thrown(NativeCallError, () => b.cl.queue.waitFor([other.fence(), failing]));
  thrown(InteropError, () => queue[Symbol.dispose]());
});

testFailing("the event of a failed command is held until all that it waited for is over", async (platform) => {
  using b = bench(platform);
  const queue = b.cl.createQueue();
  using bad = gate();
  using slow = gate();
  const tensor = zeroed(b.cl, 64);
  const { alive } = ledger;
  b.kernels.add.run({ items: [64] }, [tensor, 1], { queue, after: [bad.fence, slow.fence] });
  const fence = queue.fence();
  await bad.fail();
  await sleep(20);
  await slow.complete();
  await rejection(NativeCallError, fence.wait());
  thrown(InteropError, () => tensor[Symbol.dispose]());
  thrown(InteropError, () => queue[Symbol.dispose]());
  b.cl.queue.waitFor([]).waitSync();
  assertEquals(ledger.alive["opencl.cl_event"], alive["opencl.cl_event"]);
});

testEach("many commands whose end is not asked for: their events are released", (platform) => {
  using b = bench(platform);
  for (let i = 0; i < 1000; i++) {
    using tensor = b.cl.allocate({ shape: [16], dtype: "u8" });
    b.kernels.fill.run({ items: [16] }, [tensor, i % 256]);
  }
  using queue = b.cl.createQueue();
  using tensor = zeroed(b.cl, 16);
  for (let i = 0; i < 1000; i++) {
    b.kernels.fill.run({ items: [16] }, [tensor, 1], { queue });
    if (i % 100 === 0) queue.finish();
  }
  const events = ledger.alive["opencl.cl_event"] ?? 0;
  assert(events < 300, `${events} events are held`);
});

testEach("more commands than a lane has room for stand behind a promise", async (platform) => {
  using b = bench(platform);
  using queue = b.cl.createQueue();
  using event = gate();
  using tensor = zeroed(b.cl, 16);
  b.kernels.add.run({ items: [16] }, [tensor, 1], { queue, after: event.fence });
  for (let i = 0; i < 600; i++) b.kernels.add.run({ items: [16] }, [tensor, 1], { queue });
  const all = queue.fence();
  await event.complete();
  await all.wait();
  assertBytes(contents(queue, tensor), new Uint8Array(16).fill(601 % 256));
});

testEach("a read, or finish(), of a queue whose command waits for a promise never hangs", async (platform) => {
  using b = bench(platform);
  using queue = b.cl.createQueue();
  using event = gate();
  using stuck = zeroed(b.cl, 64);
  using free = zeroed(b.cl, 64);
  b.kernels.add.run({ items: [64] }, [stuck, 1], { queue, after: event.fence });
  thrown(AccessError, () => queue.finish());
  thrown(AccessError, () => queue.read(free, new Uint8Array(64)));
  thrown(AccessError, () => queue.write(free, new Uint8Array(64)));
  thrown(AccessError, () => queue.read(free, new Uint8Array(64), { at: "dense" }));
  b.cl.queue.read(free, new Uint8Array(64));
  await event.complete();
  queue.read(free, new Uint8Array(64));
});

testFailing("disposing the context in the middle of it", async (platform) => {
  const b = bench(platform);
  const queue = b.cl.createQueue();
  const tensor = zeroed(b.cl, 2048);
  using event = gate();
  b.kernels.slow.run({ items: [2048] }, [tensor, 1, LONG], { queue });
  b.kernels.add.run({ items: [2048] }, [tensor, 1], { queue, after: event.fence });
  await rejection(InteropError, b.cl[Symbol.asyncDispose]());
  for (const action of [() => queue.fence(), () => queue.waitFor([]), () => queue.finish()]) {
    thrown(DisposedError, action);
  }
});

/**
 * Commands that a driver puts into no queue: NVIDIA's (580.159) reports 0 for when, and when the one before was run;
 * Intel's (2026.2) reports a time before that of the one in front.
 */
const UNTIMED: { readonly [platform: string]: readonly string[] } = { nvidia: ["migrate"], intel: ["marker"] };

for (const platform of ALL) {
  test(`${platform}: times of commands`, [platform], async () => {
    using b = bench(platform);
    using queue = b.cl.createQueue({ profiling: true });
    assert(queue.profiling);
    using tensor = zeroed(b.cl, 2048);
    using other = b.cl.allocate({ shape: [2048], dtype: "u8" });
    const commands: Record<string, () => void> = {
      kernel: () => b.kernels.slow.run({ items: [2048] }, [tensor, 1, LONG / 8], { queue }),
      fill: () => queue.fill(tensor, 5),
      copy: () => queue.copy(tensor, other),
      migrate: () => queue.migrate([tensor], { to: "device" }),
      read: () => queue.read(tensor, new Uint8Array(2048)),
      marker: () => void queue.waitFor([]),
    };
    let earlier = 0n;
    for (const [name, submit] of Object.entries(commands)) {
      submit();
      const fence = queue.fence();
      await fence.wait();
      const { queued, submitted, started, ended } = queue.times(fence);
      if (UNTIMED[platform]?.includes(name)) {
        if (platform === "nvidia") assertEquals([queued, submitted], [0n, 0n], name);
        continue;
      }
      assert(earlier <= queued, `${name}: queued before the one in front of it`);
      assert(queued <= submitted && submitted <= started && started <= ended, name);
      assertEquals(queue.times(fence), { queued, submitted, started, ended });
      earlier = platform === "rusticl" ? 0n : queued; // rusticl 22.3 reports 0, 1, 2, 3
      if (name === "kernel" && platform === "pocl") assert(ended > started);
    }
  });
}

testFailing(
  "times are refused before the end, without profiling, of another queue, after a failure, and of long ago",
  async (platform) => {
    using b = bench(platform);
    const queue = b.cl.createQueue({ profiling: true });
    using event = gate();
    using bad = gate();
    using tensor = zeroed(b.cl, 64);
    b.kernels.add.run({ items: [64] }, [tensor, 1], { queue, after: event.fence });
    const fence = queue.fence();
    assertEquals(thrown(ArgumentError, () => queue.times(fence)).argument, "fence");
    await event.complete();
    fence.waitSync();
    queue.times(fence);
    assertEquals(thrown(ArgumentError, () => queue.times(event.fence)).argument, "fence");
    assertEquals(thrown(ArgumentError, () => b.cl.queue.times(b.cl.queue.fence())).argument, "profiling");
    for (let i = 0; i < 1024; i++) b.kernels.add.run({ items: [64] }, [tensor, 0], { queue });
    queue.finish();
    assertEquals(thrown(ArgumentError, () => queue.times(fence)).argument, "fence");
    const doomed = b.cl.allocate({ shape: [64], dtype: "u8" });
    b.kernels.add.run({ items: [64] }, [doomed, 1], { queue, after: bad.fence });
    const failed = queue.fence();
    await bad.fail();
    await rejection(NativeCallError, failed.wait());
    thrown(NativeCallError, () => queue.times(failed));
    thrown(InteropError, () => doomed[Symbol.dispose]());
    queue.waitFor([]).waitSync(); // the queue's end reports what became of the last command
    queue[Symbol.dispose]();
  },
);

testEach("times are kept after the queue is gone", (platform) => {
  using b = bench(platform);
  const queue = b.cl.createQueue({ profiling: true });
  using tensor = zeroed(b.cl, 64);
  b.kernels.add.run({ items: [64] }, [tensor, 1], { queue });
  const fence = queue.fence();
  queue[Symbol.dispose]();
  const { started, ended } = queue.times(fence);
  assert(started <= ended);
});

testEach("waitFor() takes fences of any kind", async (platform) => {
  using one = bench(platform);
  using other = bench(platform);
  using event = gate();
  using elsewhere = gate();
  using queue = one.cl.createQueue();
  const first = queue.waitFor([event.fence, event.fence]);
  const second = one.cl.queue.waitFor(first);
  assert(!first.reached() && !second.reached());
  await event.complete();
  await second.wait();
  assert(first.reached());
  // A fence of another context, behind a promise: the host would wait for it, and could never go on.
  const far = other.cl.queue.waitFor(elsewhere.fence);
  thrown(AccessError, () => queue.waitFor([far]));
  await elsewhere.complete();
  queue.waitFor([far, first]).waitSync();
  queue.waitFor([]).waitSync();
  using failed = gate();
  const error = new RangeError("no");
  await failed.fail(error);
  assertStrictEquals(thrown(RangeError, () => queue.waitFor(failed.fence)), error);
  assertStrictEquals(thrown(RangeError, () => queue.waitFor([far, failed.fence])), error);
});

testEach("what a queue cannot wait for is refused", (platform) => {
  using b = bench(platform);
  // deno-lint-ignore no-explicit-any -- what JavaScript passes
  const wait = (after: any) => () => b.cl.queue.waitFor(after);
  for (const after of [null, 5, "x", {}, [undefined], [null], [Promise.resolve()], new Set()]) {
    thrown(ArgumentError, wait(after));
  }
});

testEach("a kernel runs after all that it has to wait for", async (platform) => {
  using b = bench(platform);
  using tensor = zeroed(b.cl, 64);
  const events = [gate(), gate()];
  using queue = b.cl.createQueue();
  b.kernels.fill.run({ items: [64] }, [tensor, 7], { queue, after: events.map((event) => event.fence) });
  const done = queue.fence();
  for (const event of events) {
    assert(!done.reached());
    await event.complete();
  }
  await done.wait();
  assertBytes(contents(queue, tensor), filled(64, 7));
  // deno-lint-ignore no-explicit-any -- what JavaScript passes
  thrown(ArgumentError, () => b.kernels.fill.run({ items: [64] }, [tensor, 1], { after: [done, 5] as any }));
});
