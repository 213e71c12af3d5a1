/** Memory and semaphores of other APIs on PoCL, by a simulated driver: what is called, who closes which fd, what ends when. */
import { alive, blocking, driver, semaphoreFds, someFd, told, UUID } from "./external/simulated.ts"; // first: it taps the libraries
import { simulated } from "./external/on_simulated.ts";
import { Foreign, type ForeignTensor, maker } from "./external/foreign.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { host, MapperGraph, region } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { OpenCVContext } from "@samepage/interop/opencv";
import { NULL } from "../../ffi/address.ts";
import { opencl } from "../../src/opencl/library.ts";
import { UserEvent } from "../../src/opencl/queues/event.ts";
import { addressOf } from "../../src/core/native/pin.ts";
import { Port } from "../../src/core/device/port.ts";
import { offerSemaphores } from "../../src/core/device/line_sync.ts";
import { ArgumentError, LayoutError, NativeCallError, NoRouteError } from "../../src/core/errors.ts";
import type { Imported } from "../../src/core/contract.ts";
import type { Access } from "../../src/core/memory/access.ts";
import type { Allocation } from "../../src/core/memory/allocation.ts";
import { openFds } from "../gc.ts";
import { present as hasOpenCV } from "../opencv/help.ts";
import { kernelsOf, open } from "./help.ts";

const LAPS = 20;
const BYTES = { shape: [4096], dtype: "u8" } as const;
const CREATE = "clCreateBufferWithProperties";
const ACQUIRE = "clEnqueueAcquireExternalMemObjectsKHR";
const RELEASE = "clEnqueueReleaseExternalMemObjectsKHR";
const SIGNAL = "clEnqueueSignalSemaphoresKHR";
const WAIT = "clEnqueueWaitSemaphoresKHR";
const MAKE = "clCreateSemaphoreWithPropertiesKHR";
const EXPORT = "clGetSemaphoreHandleForTypeKHR";

/** As the graph imports. */
function imported({ ports }: OpenCLContext, port: Port, of: Allocation): Imported {
  using from = port;
  return (ports.import as (port: Port, access: Access, of?: Allocation) => Imported)(from, "read-write", of);
}

simulated("memory by an opaque fd is used in place, proven both ways, and handed over at both ends", async (cl) => {
  using foreign = new Foreign();
  using graph = new MapperGraph([foreign, cl]);
  using source = foreign.allocate(BYTES) as ForeignTensor;
  const [{ transfer, evidence }] = graph.explain(source, cl).steps;
  assertEquals([transfer, evidence], ["alias", "proven by aliasing both ways, foreign memory"]);
  assertEquals(cl.bytesCopied, 0);
  const { program, fill } = kernelsOf(cl);
  using _ = program;
  told.length = 0;
  {
    using buffer = graph.map(source, cl);
    assertEquals(told, [CREATE, ACQUIRE]);
    fill.run({ items: [4096] }, [buffer, 5]);
    await buffer.finished();
  }
  assertEquals(told.filter((call) => call !== CREATE), [ACQUIRE, RELEASE]);
  assert(source.bytes.every((byte, i) => byte === ((5 + i * 7) & 0xff)));
});

simulated("a map to an imported buffer carries the source's work, which its acquire waits for", async (cl) => {
  using foreign = new Foreign();
  using graph = new MapperGraph([foreign, cl]);
  using source = foreign.allocate(BYTES) as ForeignTensor;
  graph.map(source, cl)[Symbol.dispose](); // after the proof
  using program = cl.program(
    "kernel void slow(global uchar *a, int n) { for (volatile int i = 0; i < n; i++); *a = 7; }",
  );
  using slow = program.kernel("slow");
  using other = cl.allocate({ shape: [64], dtype: "u8" });
  slow.run({ items: [1] }, [other, 100_000_000]);
  source.usedBy(cl.queue.line.fence());
  using buffer = graph.map(source, cl);
  assertEquals(buffer.work.length, 1);
  await buffer.finished();
});

simulated("where no device has a UUID, the error tells those that devices have", () => {
  const { hint } = assertThrows(() => OpenCLContext.open({ uuid: "0".repeat(32) }), ArgumentError);
  assertStringIncludes(hint!, `UUID ${UUID}`);
});

simulated("a part is a sub-buffer where its place allows one, else the whole and an offset", (cl) => {
  using foreign = new Foreign();
  using graph = new MapperGraph([foreign, cl]);
  using source = foreign.allocate({ shape: [4, 1024], dtype: "u8" });
  const { program, add, addAt } = kernelsOf(cl);
  using _ = program;
  {
    using row = source.slice(region(source.layout, [1, 0], [1, 1024]));
    using buffer = graph.map(row, cl);
    assertEquals([buffer.origin, buffer.layout.byteOffset], [1024, 0]);
    add.run({ items: [1024] }, [buffer, 3]);
  }
  {
    using odd = source.slice(region(source.layout, [2, 1], [1, 9]));
    using buffer = graph.map(odd, cl);
    assertEquals([buffer.origin, buffer.layout.byteOffset], [0, 2049]);
    addAt.run({ items: [9] }, [buffer.base, 2049n, 4]);
  }
  assertEquals(
    source.bytes.map((byte, i) => byte - (i >= 1024 && i < 2048 ? 3 : i >= 2049 && i < 2058 ? 4 : 0)).some(Boolean),
    false,
  );
});

simulated(
  "graph.map() to a UMat and back finds a part of another API's memory",
  async () => {
    using foreign = new Foreign();
    using source = foreign.allocate({ shape: [4, 1024], dtype: "u8" });
    for (const value of [7, 9]) { // by a context that ends, and by one that comes after it
      await using cl = open("pocl");
      using cv = OpenCVContext.open();
      using graph = new MapperGraph([foreign, cl, cv]);
      using row = source.slice(region(source.layout, [1, 0], [1, 1024]));
      using buffer = graph.map(row, cl);
      using umat = graph.map(buffer, cv.umat);
      assertEquals<unknown[]>([umat.buffer.mem, umat.buffer.offset], [buffer.root.mem, 1024]);
      using back = graph.map(umat, cl);
      assertEquals([back.root.mem, back.rootOffset], [buffer.root.mem, 1024]);
      cl.queue.fill(back, value);
    }
    assertEquals(source.bytes.every((byte, i) => byte === (i >= 1024 && i < 2048 ? 9 : 0)), true);
  },
  hasOpenCV ? undefined : "no OpenCV here",
  () => {
    using cl = open("pocl");
    using cv = OpenCVContext.open();
    using graph = new MapperGraph([cl, cv]);
    using buffer = cl.allocate(BYTES);
    graph.map(buffer, cv.umat)[Symbol.dispose](); // OpenCV has a context on the first GPU from now on
  },
);

simulated("a block is imported once until it is freed, and two maps of it are acquired and released once", (cl) => {
  using foreign = new Foreign();
  using source = foreign.allocate(BYTES);
  const { allocation } = source.grant;
  const port = () => foreign.ports.export!(source, "opaque-fd", 64, "read", false).port;
  const [one, other] = [port(), port()].map((each) => imported(cl, each, allocation));
  const submit = (call: ReturnType<NonNullable<Imported["begin"]>>) => call && cl.line.submitRaw(call).waitSync();
  submit(one.begin!());
  submit(other.begin!());
  submit(one.end!());
  one.release!();
  assertEquals(told, [CREATE, ACQUIRE]);
  submit(other.end!());
  other.release!();
  assertEquals([told, alive()], [[CREATE, ACQUIRE, RELEASE], 1]);
  source[Symbol.dispose]();
  assertEquals(alive(), 0);
});

simulated("a second map of a block imports nothing", (cl) => {
  using foreign = new Foreign();
  using graph = new MapperGraph([foreign, cl]);
  using source = foreign.allocate(BYTES);
  graph.map(source, cl)[Symbol.dispose]();
  told.length = 0;
  for (let i = 0; i < 1000; i++) graph.map(source, cl)[Symbol.dispose]();
  assertEquals([told.length, count(told, ACQUIRE), count(told, RELEASE)], [2000, 1000, 1000]);
});

simulated("what a map never handed back is handed back with the block, and with the context", (cl) => {
  using foreign = new Foreign();
  for (const end of ["block", "context"]) {
    using other = open("pocl");
    using source = foreign.allocate(BYTES);
    const { port } = foreign.ports.export!(source, "opaque-fd", 64, "read", false);
    const { begin } = imported(other, port, source.grant.allocation);
    other.line.submitRaw(begin!()!);
    told.length = 0;
    if (end === "block") source[Symbol.dispose]();
    else other[Symbol.dispose]();
    assertEquals([told, alive()], [[RELEASE], 0], end);
  }
  void cl;
});

simulated("what fails leaves no fd and nothing alive", (cl) => {
  using foreign = new Foreign();
  using graph = new MapperGraph([foreign, cl]);
  using source = foreign.allocate(BYTES);
  graph.map(source, cl)[Symbol.dispose](); // proven
  const fds = openFds();
  for (const name of [CREATE, ACQUIRE]) {
    using fresh = foreign.allocate(BYTES);
    driver.fails = name;
    const error = assertThrows(() => graph.map(fresh, cl), NativeCallError, name);
    if (name === CREATE) assertEquals(error.code, 999);
    fresh[Symbol.dispose]();
    assertEquals(openFds(), fds, name);
  }
  using fresh = foreign.allocate(BYTES);
  const mapped = graph.map(fresh, cl);
  driver.fails = RELEASE;
  assertThrows(() => mapped[Symbol.dispose](), NativeCallError, RELEASE);
});

simulated(
  "memory of another device is closed to it, with both UUIDs; a port longer than its block is refused",
  (cl) => {
    using foreign = new Foreign("f".repeat(32));
    using graph = new MapperGraph([foreign, cl]);
    using source = foreign.allocate(BYTES);
    const { message } = assertThrows(() => graph.map(source, cl), NoRouteError);
    for (const part of [UUID, "f".repeat(32)]) assertStringIncludes(message, part);
    const long = new Port("opaque-fd", { fd: someFd(), offset: 4000, byteLength: 100 });
    assertThrows(() => imported(cl, long, source.grant.allocation), LayoutError, "ends at byte 4100");
  },
);

simulated("what OpenCL has of another API's memory is not shown to the host by OpenCL", (cl) => {
  using foreign = new Foreign();
  using graph = new MapperGraph([host, foreign, cl]);
  using source = foreign.allocate(BYTES);
  using buffer = graph.map(source, cl);
  assertStringIncludes(String(graph.explain(buffer, host)), "memory of another API");
});

/** Queues of two contexts take turns. What is called meanwhile, but for the commands themselves. */
async function takeTurns(cl: OpenCLContext): Promise<readonly string[]> {
  await using other = open("pocl");
  using a = cl.allocate(BYTES);
  using b = other.allocate(BYTES);
  const held = new UserEvent(cl.handle); // so that nothing is over before all was submitted
  const list = BigUint64Array.of(held.event);
  assertEquals(opencl().clEnqueueMarkerWithWaitList(cl.queue.handle, 1, addressOf(list, "opencl"), NULL), 0);
  for (let lap = 0; lap < LAPS; lap++) {
    cl.queue.fill(a, lap);
    other.queue.waitFor(cl.line.fence());
    other.queue.fill(b, lap);
    cl.queue.waitFor(other.line.fence());
  }
  assertEquals([list[0], blocking], [held.event, []]);
  const called = [...told];
  held.set(true);
  await other.line.fence().wait();
  await cl.line.fence().wait();
  assert(semaphoreFds.every((fd) => fd >= 500), `${semaphoreFds}`);
  return called;
}

const count = (calls: readonly string[], name: string) => calls.filter((call) => call === name).length;

simulated("queues of two contexts wait for each other by semaphores, and the host does not wait", async (cl) => {
  using _open = { [Symbol.dispose]: offerSemaphores(maker) };
  const calls = await takeTurns(cl);
  assertEquals([SIGNAL, WAIT].map((name) => count(calls, name)), [2 * LAPS, 2 * LAPS]);
  assertEquals(count(calls, MAKE), 4); // each of two semaphores has two imports
});

simulated("where a driver exports its marks, they wait by sync files", async () => {
  driver.exportsSyncFiles = true;
  try {
    await using cl = open("pocl");
    const { exports, imports } = cl.driver.lines.sync!;
    assertEquals([exports, imports], [["sync-fd"], ["binary-fd", "sync-fd"]]);
    const calls = await takeTurns(cl);
    assertEquals([MAKE, SIGNAL, WAIT].map((name) => count(calls, name)), [4 * LAPS, 2 * LAPS, 2 * LAPS]);
    driver.fails = EXPORT;
    assertThrows(() => cl.driver.lines.sync!.export!(cl.line.lane, 0, "sync-fd", false), NativeCallError, EXPORT);
  } finally {
    driver.exportsSyncFiles = false;
  }
});

simulated("a semaphore that OpenCL refuses leaves no fd; one that it took is released", (cl) => {
  const sync = cl.driver.lines.sync!;
  driver.fails = MAKE;
  using refused = new Port("binary-fd", { fd: someFd() });
  assertThrows(() => sync.import(refused, cl.line.lane), NativeCallError, MAKE);
  using taken = new Port("binary-fd", { fd: someFd() });
  const semaphore = sync.import(taken, cl.line.lane);
  driver.fails = WAIT;
  assertThrows(() => sync.wait(cl.line.lane, semaphore, 1n), NativeCallError, WAIT);
  driver.fails = SIGNAL;
  assertThrows(() => cl.line.submitRaw(sync.signal!([semaphore], [1n])), NativeCallError, SIGNAL);
  sync.release(semaphore);
});
