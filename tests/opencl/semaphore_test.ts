/** Semaphores of other code's on PoCL, by a simulated driver: what is checked, what waits for what, what ends when. */
import { alive, blocking, driver, told } from "./external/simulated.ts"; // first: it taps the libraries
import { simulated } from "./external/on_simulated.ts";
import { SIGNAL, Theirs, WAIT } from "./external/theirs.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError, DisposedError, type Fence } from "@samepage/interop";
import type { OpenCLQueue, OpenCLTensor } from "@samepage/interop/opencl";
import { NULL } from "../../ffi/address.ts";
import { CL_INVALID_VALUE } from "../../ffi/opencl/errors.ts";
import { CL_SEMAPHORE_PAYLOAD_KHR, CL_SEMAPHORE_TYPE_KHR } from "../../ffi/opencl_semaphore/constants.ts";
import { InteropError, NativeCallError } from "../../src/core/errors.ts";
import { opencl } from "../../src/opencl/library.ts";
import { CL_SEMAPHORE_DEVICE_HANDLE_LIST_KHR } from "../../src/opencl/external/attached_semaphore.ts";
import { UserEvent } from "../../src/opencl/queues/event.ts";
import { addressOf } from "../../src/core/native/pin.ts";
import { open } from "./help.ts";

const BYTES = { shape: [4096], dtype: "u8" } as const;
const INFO = "clGetSemaphoreInfoKHR";
const RETAIN = "clRetainSemaphoreKHR";

/** Asks until it is reached: nothing else drives the simulated driver. */
async function reached(fence: Fence): Promise<void> {
  while (!fence.reached()) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** A command of theirs: it fills a buffer, and samepage knows of none of it. */
function fill({ handle }: OpenCLQueue, { handle: mem }: OpenCLTensor, value: number): void {
  const { clEnqueueFillBuffer } = opencl();
  assertEquals(clEnqueueFillBuffer!(handle, mem, Uint8Array.of(value), 1n, 0n, 4096n, 0, NULL, NULL), 0);
}

simulated("their work and ours take turns by two of their semaphores, and the host does not wait", async (cl) => {
  using there = new Theirs(cl);
  using back = new Theirs(cl);
  await using ours = cl.createQueue();
  await using theirs = cl.createQueue();
  await using tensor = cl.allocate(BYTES);
  await using copies = cl.allocate({ shape: [20, 4096], dtype: "u8" });
  await using ready = cl.attachSemaphore(there.handle);
  await using free = cl.attachSemaphore(back.handle);
  const held = new UserEvent(cl.handle); // so that nothing is over before all was submitted
  const list = BigUint64Array.of(held.event);
  assertEquals(opencl().clEnqueueMarkerWithWaitList(theirs.handle, 1, addressOf(list, "opencl"), NULL), 0);
  const rows = Array.from({ length: 20 }, (_, lap) => copies.slice({ ...BYTES, byteOffset: lap * 4096 }));
  for (const [lap, row] of rows.entries()) {
    if (lap > 0) back.submit(WAIT, theirs);
    fill(theirs, tensor, lap + 1);
    there.submit(SIGNAL, theirs);
    ours.waitSemaphores([ready]);
    ours.copy(tensor, row);
    ours.signalSemaphores([free]);
  }
  assertEquals([list[0], blocking], [held.event, []]);
  held.set(true);
  await ours.fence().wait();
  for (const row of rows) row[Symbol.dispose]();
  const seen = new Uint8Array(20 * 4096);
  cl.queue.read(copies, seen);
  assert(seen.every((byte, i) => byte === 1 + Math.floor(i / 4096)));
});

simulated("it is retained until its wrapper ends, and ends with the context", (cl) => {
  const theirs = new Theirs(cl);
  const attached = cl.attachSemaphore(theirs.handle);
  assertEquals([attached.handle, attached.context], [theirs.handle, cl]);
  theirs[Symbol.dispose]();
  assertEquals(alive(), 1);
  attached.signal();
  attached[Symbol.dispose]();
  assertEquals(alive(), 0);
  for (const use of [() => attached.wait(), () => attached.handle]) {
    assertThrows(use, DisposedError);
  }
  const other = open("pocl");
  using another = new Theirs(other);
  other.attachSemaphore(another.handle);
  other[Symbol.dispose]();
  assertEquals(alive(), 1);
});

simulated("its end waits for the commands that use it", async (cl) => {
  using theirs = new Theirs(cl);
  const attached = cl.attachSemaphore(theirs.handle);
  const wait = attached.wait();
  const end = attached[Symbol.asyncDispose]();
  assertEquals(wait.reached(), false);
  await using queue = cl.createQueue();
  theirs.submit(SIGNAL, queue);
  await reached(wait);
  await end;
  assertEquals(alive(), 1);
});

simulated("our waits on two queues come one behind the other", async (cl) => {
  using theirs = new Theirs(cl);
  await using one = cl.createQueue();
  await using other = cl.createQueue();
  await using queue = cl.createQueue();
  await using attached = cl.attachSemaphore(theirs.handle);
  const first = one.waitSemaphores([attached]);
  const second = other.waitSemaphores([attached]);
  const isBehind = other.line.isBehind(first.line, first.mark);
  theirs.submit(SIGNAL, queue);
  await reached(first);
  assertEquals(second.reached(), false);
  theirs.submit(SIGNAL, queue);
  await reached(second);
  assertEquals([isBehind, blocking], [true, []]); // else it could take the first signal
});

simulated("what it is not is refused before it is retained", (cl) => {
  using theirs = new Theirs(cl);
  using other = open("pocl");
  const refused = (message: string, at = cl) => {
    assertThrows(() => at.attachSemaphore(theirs.handle), ArgumentError, message);
    driver.says.clear();
  };
  told.length = 0;
  refused("of another cl_context", other);
  driver.says.set(Number(CL_SEMAPHORE_TYPE_KHR), [2n]);
  refused("expected a binary semaphore, got one of type 0x2");
  driver.says.set(CL_SEMAPHORE_PAYLOAD_KHR, [7n]);
  refused("has 0 or 1 signals, and this one says 7");
  driver.says.set(CL_SEMAPHORE_DEVICE_HANDLE_LIST_KHR, [cl.device.handle, 0xabcn, 0n]);
  refused("0xabc");
  assertEquals(told.filter((name) => name !== INFO), []);
  driver.says.set(CL_SEMAPHORE_DEVICE_HANDLE_LIST_KHR, [cl.device.handle, 0n]);
  using attached = cl.attachSemaphore(theirs.handle);
  driver.says.clear();
  assertThrows(() => other.queue.signalSemaphores([attached]), ArgumentError, "belongs to another context");
});

simulated("what fails leaves nothing, and is said", (cl) => {
  using theirs = new Theirs(cl);
  for (const name of [INFO, RETAIN]) {
    driver.fails = name;
    assertThrows(() => cl.attachSemaphore(theirs.handle), NativeCallError, name);
  }
  assertThrows(() => cl.attachSemaphore(theirs.handle + 99n), InteropError, `${CL_INVALID_VALUE}`);
  using attached = cl.attachSemaphore(theirs.handle);
  for (const [name, use] of [[WAIT, () => attached.wait()], [SIGNAL, () => attached.signal()]] as const) {
    driver.fails = name;
    assertThrows(use, NativeCallError, name);
  }
  attached.signal();
  attached.wait(); // what failed has left no command behind
  cl.queue.finish();
});
