/** Signals of semaphores, and waits for them, have no events of their own: who hears of them, and when. */
import { driver, flushed, told } from "./external/simulated.ts"; // first: it taps the libraries
import { simulated } from "./external/on_simulated.ts";
import { Foreign, maker } from "./external/foreign.ts";
import { assert, assertEquals, assertNotEquals, assertRejects, assertThrows } from "@std/assert";
import { type Fence, host, ledger, MapperGraph, NativeCallError, Semaphore } from "@samepage/interop";
import type { OpenCLContext, OpenCLQueue } from "@samepage/interop/opencl";
import type { Call, LineEvents } from "../../src/core/contract.ts";
import { Line } from "../../src/core/device/line.ts";
import { offerSemaphores } from "../../src/core/device/line_sync.ts";
import { Resource } from "../../src/core/life/resource.ts";
import { NULL } from "../../ffi/address.ts";
import { addressOf } from "../../src/core/native/pin.ts";
import { check } from "../../src/opencl/errors.ts";
import { UserEvent } from "../../src/opencl/queues/event.ts";
import { ClLane } from "../../src/opencl/lane.ts";
import { opencl } from "../../src/opencl/library.ts";
import { open } from "./help.ts";

/** The device of the simulated driver. */
const exporter = { name: "foreign", resource: new Resource({ name: "foreign" }), semaphores: maker };

const BYTES = { shape: [64], dtype: "u8" } as const;

/** How many events are alive. */
const events = () => ledger.alive["opencl.cl_event"] ?? 0;

/** Asks until it is reached: nothing else drives the simulated driver. */
async function reached(fence: Fence): Promise<void> {
  while (!fence.reached()) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** A semaphore of a context that another one waits for. */
function between(from: OpenCLContext, to: OpenCLContext, made: DisposableStack) {
  const semaphore = made.use(Semaphore.create(exporter));
  return { from: semaphore.in(from), to: semaphore.in(to) };
}

simulated("a signal and a wait hold no events, until somebody asks", async (cl) => {
  await using other = open("pocl");
  using made = new DisposableStack();
  const there = between(cl, other, made);
  const before = events();
  const signal = there.from.signal();
  there.to.wait();
  assertEquals(events(), before);
  await reached(signal);
  await reached(other.line.fence());
  assertEquals(events(), before);
});

simulated("an acquire of other memory holds no event, until somebody asks", async (cl) => {
  using foreign = new Foreign();
  using graph = new MapperGraph([foreign, cl]);
  using words = foreign.allocate(BYTES);
  graph.map(words, cl)[Symbol.dispose](); // proves that they share it
  const before = events();
  told.length = 0;
  using _mapped = graph.map(words, cl);
  assertEquals([told, events()], [["clEnqueueAcquireExternalMemObjectsKHR"], before]);
  await reached(cl.line.fence());
  assertEquals(events(), before);
});

simulated("the next command's event tells of them", async (cl) => {
  await using other = open("pocl");
  using made = new DisposableStack();
  const [there, back] = [between(cl, other, made), between(other, cl, made)];
  await using words = cl.allocate(BYTES);
  const signal = there.from.signal();
  there.to.wait();
  back.from.signal();
  back.to.wait();
  cl.queue.fill(words, 1);
  const { lane } = cl.line;
  assertEquals(lane.eventAt(signal.mark), lane.eventAt(cl.line.submitted));
  assertEquals(cl.line.submitted - signal.mark, 2);
  await reached(signal);
  assert(cl.line.isOver(cl.line.submitted));
});

simulated("work that another driver's line waits for is flushed once, with its signal", async (cl) => {
  await using other = open("pocl");
  using made = new DisposableStack();
  made.defer(offerSemaphores(maker));
  await using words = cl.allocate(BYTES);
  for (let time = 1; time <= 3; time++) {
    cl.queue.fill(words, time);
    flushed.length = told.length = 0;
    const fence = other.line.submitRaw(other.driver.marker(), [cl.line.fence()]);
    const signals = told.filter((name) => name === "clEnqueueSignalSemaphoresKHR").length;
    assertEquals([flushed, signals], [[cl.queue.handle], 1], `time ${time}`);
    await reached(fence);
  }
});

simulated("work that is asked about by turns is flushed, and over in the end", async (cl) => {
  await using words = cl.allocate(BYTES);
  cl.queue.fill(words, 1);
  flushed.length = 0;
  while (words.resource.busy) await new Promise((resolve) => setTimeout(resolve, 1));
  assertEquals(flushed, [cl.queue.handle]);
});

simulated("what waits for a promise does not hold up a signal before it", async (cl) => {
  await using other = open("pocl");
  using made = new DisposableStack();
  const there = between(cl, other, made);
  const { promise, resolve } = Promise.withResolvers<void>();
  made.defer(resolve);
  const signal = there.from.signal();
  const gated = cl.line.waitFor([host.signal(promise)]);
  const { lane } = cl.line;
  // The event of a signal that is over was released, and the next one may have its address.
  if (!signal.reached()) assertNotEquals(lane.eventAt(signal.mark), lane.eventAt(gated.mark));
  await reached(signal);
  assert(!gated.reached());
  resolve();
  await reached(gated);
});

simulated("the command after a signal that the driver refused has its event", async (cl) => {
  using made = new DisposableStack();
  const semaphore = made.use(Semaphore.create(exporter));
  const inContext = semaphore.in(cl);
  const before = events();
  driver.fails = "clEnqueueSignalSemaphoresKHR";
  assertThrows(() => inContext.signal(), NativeCallError, driver.fails);
  assertEquals(semaphore.value, 0n);
  const next = cl.line.waitFor([]);
  assertEquals(events(), before + 1);
  await reached(next);
});

simulated("a queue that keeps the times of its commands keeps those of all", async (cl) => {
  await using other = open("pocl");
  using made = new DisposableStack();
  await using queue = cl.createQueue({ profiling: true });
  const semaphore = made.use(Semaphore.create(exporter));
  const signal = semaphore.in(queue).signal();
  semaphore.in(other).wait();
  await reached(queue.waitFor([]));
  assertEquals(typeof queue.times(signal).ended, "bigint");
  await reached(other.line.fence());
});

simulated("more of them than the ring has room for", async (cl) => {
  using made = new DisposableStack();
  for (let i = 0; i < 200; i++) cl.line.waitFor([]).waitSync(); // the ring's places have been used
  const { promise, resolve } = Promise.withResolvers<void>();
  made.defer(resolve);
  const first = cl.line.waitFor([host.signal(promise)]);
  const before = events();
  const signals: Fence[] = [];
  for (let i = 0; i < 300; i++) signals.push(made.use(Semaphore.create(exporter)).in(cl).signal());
  assertEquals(events(), before);
  resolve();
  await reached(signals.at(-1)!);
  assert(first.reached() && signals.every((fence) => fence.reached()));
});

simulated("kernels of a driver whose commands fail as one share an event", async (cl) => {
  await using queue = cl.createQueue();
  using line = openLine(cl, queue, true);
  const before = events();
  const fences = Array.from({ length: 16 }, () => line.line.submitRaw(KERNEL));
  assertEquals(events(), before);
  await reached(fences[7]); // by a marker behind all of them
  assert(line.line.wasOver(fences[15].mark));
  const { promise, resolve } = Promise.withResolvers<void>();
  const gated = line.line.submitRaw(KERNEL, [host.signal(promise)]);
  assertEquals(events(), before + 3, "the promise's, which the kernel holds as well, and its own");
  const more = Array.from({ length: 100 }, () => line.line.submitRaw(KERNEL));
  assertEquals(events(), before + 3 + 5, "every seventeenth has one");
  resolve();
  await reached(more[99]);
  assert(gated.reached());
  assertEquals(events(), before);
});

simulated("what waits for another queue does not hold up kernels without events before it", async (cl) => {
  await using queue = cl.createQueue();
  await using other = cl.createQueue();
  using line = openLine(cl, queue, true);
  const before = events();
  const held = new UserEvent(cl.handle);
  const kernels = Array.from({ length: 3 }, () => line.line.submitRaw(KERNEL));
  const waits = line.line.submitRaw(KERNEL, [behind(held, other)]);
  await reached(kernels[2]);
  assert(!waits.reached());
  held.set(true);
  await reached(waits);
  assertEquals(events(), before + 1, "the other queue's own, which nobody has asked about");
});

const FIRST_TOLD: Record<string, (fence: Fence) => unknown> = {
  "asks": (fence) => fence.reached(),
  "blocks": (fence) => fence.waitSync(),
  "awaits": (fence) => fence.wait(),
};

for (const failsAsOne of [true, false]) {
  const which = failsAsOne ? "without events" : "with an event each";
  for (const [how, isTold] of Object.entries(FIRST_TOLD)) {
    for (const isLostWith of ["a marker", "a flush"]) {
      const when = `a program ${how}, and ${isLostWith} is refused`;
      simulated(`where the context is lost, kernels ${which} have failed, and end: ${when}`, async (cl) => {
        await using queue = cl.createQueue();
        await using words = cl.allocate(BYTES);
        const line = openLine(cl, queue, failsAsOne);
        const before = events();
        const held = new UserEvent(cl.handle);
        await using other = cl.createQueue();
        const waits = behind(held, other);
        const fences = Array.from({ length: 20 }, (_, i) => line.line.submitRaw(KERNEL, i === 3 ? [waits] : []));
        words.usedBy(fences[0]);
        driver.isLost = true;
        driver.takesMarkers = isLostWith === "a flush";
        const lost = [NativeCallError, "-9999"] as const;
        await assertRejects(async () => void await isTold(fences[19]), ...lost);
        assertThrows(() => fences[18].reached(), ...lost);
        assertThrows(() => fences[0].waitSync(), ...lost);
        await assertRejects(() => fences[1].wait(), ...lost);
        await assertRejects(() => words.finished(), ...lost);
        assert(line.line.failureAt(fences[19].mark + 1), "what comes after has failed as well");
        assertThrows(() => line[Symbol.dispose](), ...lost);
        driver.isLost = driver.takesMarkers = false;
        held.set(true);
        await reached(waits);
        assertEquals(events(), before);
      });
    }
  }
}

/** A marker stands for a kernel, and takes the same. */
const KERNEL: Call<ClLane> = {
  fn: "clEnqueueMarkerWithWaitList",
  call: ({ queue, waitCount, waitList, kernelSlot }) =>
    opencl().clEnqueueMarkerWithWaitList(queue, waitCount, waitList, kernelSlot),
};

/** A command of a queue that waits for an event, of which samepage does not know. */
function behind({ event }: UserEvent, { handle, line }: OpenCLQueue): Fence {
  const list = new BigUint64Array([event]);
  check(
    opencl().clEnqueueMarkerWithWaitList(handle, 1, addressOf(list, "opencl"), NULL),
    "clEnqueueMarkerWithWaitList",
  );
  return line.waitFor([]);
}

/** A line of its own on a queue. */
function openLine({ driver }: OpenCLContext, { line: { lane }, resource }: OpenCLQueue, failsAsOne: boolean) {
  const { context, failed } = driver;
  const open = (events: LineEvents) => new ClLane({ context, queue: lane.queue, events, failed, failsAsOne });
  const line = new Line<ClLane>({ driver, name: "kernels", owners: [resource], open });
  return { line, [Symbol.dispose]: () => line.resource.dispose() };
}
