/** The same of queues, attached objects and transfers. */
import { assert, assertEquals } from "@std/assert";
import { NULL } from "../../ffi/address.ts";
import type { ClCommandQueue, ClEvent } from "../../ffi/opencl/handles.ts";
import { pinned } from "../../src/core/native/pin.ts";
import { errcode } from "../../src/opencl/errors.ts";
import { opencl } from "../../src/opencl/library.ts";
import type { OpenCLContext, OpenCLQueue } from "../../src/opencl/mod.ts";
import { gate } from "../gate.ts";
import { raw } from "../opencl/raw.ts";
import { close, some, SOURCE, test } from "./opencl.ts";
import { sweep } from "./sweep.ts";

const SIZE = 256;

/** Nothing is left of the work of the context's own queue. */
function quiet(cl: OpenCLContext): void {
  cl.queue.waitFor([]).waitSync();
  cl.queue.finish();
}

test("two queues: kernels, a promise, a marker", async (open) => {
  const cl = open();
  using program = cl.program(SOURCE);
  using kernel = program.kernel("fill");
  const faults = await sweep(async () => {
    using queue = cl.createQueue();
    await using one = cl.allocate({ shape: [SIZE], dtype: "u8" });
    await using two = cl.allocate({ shape: [SIZE], dtype: "u8" });
    using opening = gate(); // its end comes first: that of the others waits for it
    kernel.run({ items: [SIZE] }, [one, 1], { queue, after: opening.fence });
    kernel.run({ items: [SIZE] }, [two, 2]);
    kernel.run({ items: [SIZE] }, [two, 3], { queue });
    const both = cl.queue.waitFor([queue.fence(), opening.fence]);
    await opening.complete();
    await both.wait();
  }, () => quiet(cl));
  for (const fn of ["clCreateUserEvent", "clSetUserEventStatus", "clEnqueueMarkerWithWaitList"]) some(faults, fn);
  close(cl);
});

test("a queue with profiling: times, finish()", async (open) => {
  const cl = open();
  const faults = await sweep(() => {
    using queue = cl.createQueue({ profiling: true });
    const fence = queue.waitFor([]);
    queue.finish();
    queue.times(fence);
  });
  for (const fn of ["clGetEventProfilingInfo", "clFinish"]) some(faults, fn);
  close(cl);
});

test("the end of a queue whose commands are still at work", async (open) => {
  const cl = open();
  using program = cl.program(SOURCE);
  using slow = program.kernel("slow");
  using from = cl.allocate({ shape: [2048], dtype: "u8" });
  cl.queue.fill(from, 1);
  const faults = await sweep(() => {
    using one = cl.allocate({ shape: [2048], dtype: "u8" });
    using two = cl.allocate({ shape: [2048], dtype: "u8" });
    using queue = cl.createQueue();
    slow.run({ items: [2048] }, [from, one], { queue });
    slow.run({ items: [2048] }, [from, two], { queue });
  }, () => quiet(cl));
  some(faults, "clGetEventInfo");
  close(cl);
});

test("an attached queue", async (open) => {
  const cl = open();
  const raw = rawQueue(cl);
  const faults = await sweep(() => {
    using queue = cl.attachQueue(raw);
    queue.finish();
  }, () => quiet(cl));
  for (const fn of ["clGetCommandQueueInfo", "clRetainCommandQueue", "clReleaseCommandQueue"]) some(faults, fn);
  assertEquals(opencl().clReleaseCommandQueue(raw), 0);
  close(cl);
});

test("an attached event, of a command and of no command yet", async (open) => {
  const cl = open();
  const queue = rawQueue(cl);
  const event = new BigUint64Array(1);
  pinned(event, "opencl", (at) => assertEquals(opencl().clEnqueueMarkerWithWaitList(queue, 0, NULL, at), 0));
  const unset = () => opencl().clCreateUserEvent(cl.handle, errcode);
  let user = unset();
  const { clReleaseEvent } = opencl();
  const faults = await sweep(async () => {
    // Whatever fails, but for this: ends wait for it.
    const set = new Promise<void>((resolve) =>
      setTimeout(() => {
        raw().clSetUserEventStatus(user, 0);
        resolve();
      }, 2)
    );
    try {
      const done = cl.attachEvent(event[0]);
      const opened = cl.attachEvent(user);
      await using tensor = cl.allocate({ shape: [SIZE], dtype: "u8" });
      tensor.usedBy(opened);
      cl.queue.fill(tensor, 1);
      await cl.queue.waitFor([done, opened]).wait();
    } finally {
      await set;
    }
  }, () => {
    quiet(cl);
    assertEquals(clReleaseEvent(user), 0);
    user = unset();
  });
  for (const fn of ["clGetEventInfo", "clRetainEvent", "clReleaseEvent", "clFlush"]) some(faults, fn);
  raw().clSetUserEventStatus(user, 0);
  for (const each of [user, event[0] as ClEvent]) assertEquals(clReleaseEvent(each), 0);
  assertEquals(opencl().clReleaseCommandQueue(queue), 0);
  close(cl);
});

const PADDED = { shape: [4, 64], dtype: "u8", strides: [100, 1] } as const;
const SEVENS = new Uint8Array(SIZE).fill(7);
const PLAIN = { shape: [4, 64], dtype: "u8" } as const;

const TRANSFERS: { readonly [fn: string]: (queue: OpenCLQueue, bytes: Uint8Array) => void } = {
  clEnqueueFillBuffer(queue) {
    using tensor = queue.context.allocate(PADDED);
    queue.fill(tensor, [1, 2]);
  },
  clEnqueueCopyBuffer(queue) {
    using from = queue.context.allocate(PLAIN);
    using to = queue.context.allocate(PLAIN);
    queue.copy(from, to);
  },
  clEnqueueCopyBufferRect(queue) {
    using from = queue.context.allocate(PLAIN);
    using to = queue.context.allocate(PADDED);
    queue.copy(from, to);
  },
  clEnqueueMigrateMemObjects(queue) {
    using one = queue.context.allocate(PLAIN);
    using two = queue.context.allocate(PADDED);
    queue.migrate([one, two], { to: "device" });
  },
  clGetMemObjectInfo(queue) {
    using tensor = queue.context.allocate(PLAIN);
    queue.migrate([tensor], { to: "host", contentUndefined: true });
  },
  clEnqueueReadBuffer(queue, bytes) {
    using tensor = queue.context.allocate(PLAIN);
    queue.write(tensor, SEVENS);
    queue.read(tensor, bytes);
  },
  clEnqueueWriteBuffer(queue, bytes) {
    using tensor = queue.context.allocate(PLAIN);
    queue.write(tensor, bytes);
  },
  clEnqueueReadBufferRect(queue, bytes) {
    using tensor = queue.context.allocate(PADDED);
    queue.write(tensor, SEVENS, { at: "dense" });
    queue.read(tensor, bytes, { at: "dense" });
  },
  clEnqueueWriteBufferRect(queue, bytes) {
    using tensor = queue.context.allocate(PADDED);
    queue.write(tensor, bytes, { at: "dense" });
  },
};

test("transfers", async (open) => {
  const cl = open();
  for (const [fn, transfer] of Object.entries(TRANSFERS)) {
    const bytes = new Uint8Array(SIZE);
    const faults = await sweep(() => transfer(cl.queue, bytes), () => quiet(cl));
    some(faults, fn);
    if (fn.includes("Read")) assert(bytes.every((byte) => byte === 7), "the last run, without a failure");
  }
  close(cl);
});

/** A queue that somebody else made. */
function rawQueue(cl: OpenCLContext): ClCommandQueue {
  const raw = opencl().clCreateCommandQueue(cl.handle, cl.device.handle, 0n, errcode);
  assertEquals(errcode[0], 0);
  return raw;
}
