/** The same of queues, attached objects and transfers. */
import { assert, assertEquals } from "@std/assert";
import { InteropError } from "../../mod.ts";
import type { ClCommandQueue, ClEvent } from "../../ffi/opencl/handles.ts";
import { errcode } from "../../src/opencl/errors.ts";
import { opencl } from "../../src/opencl/library.ts";
import type { OpenCLContext, OpenCLQueue, QueueOptions } from "../../src/opencl/mod.ts";
import { close, some, SOURCE, test } from "./opencl.ts";
import { sweep } from "./sweep.ts";

const SIZE = 256;

/** The queue that was asked for, or an ordinary one where the device cannot do it. */
function queueOf(cl: OpenCLContext, options: QueueOptions): OpenCLQueue {
  try {
    return cl.createQueue(options);
  } catch (error) {
    if (!(error instanceof InteropError) || error.argument !== "order") throw error;
    return cl.createQueue();
  }
}

/** Nothing is left of the work of the context's own queue. */
function quiet(cl: OpenCLContext): void {
  using marker = cl.queue.marker();
  marker.waitSync();
  cl.queue.finish();
}

function isOutOfOrder(cl: OpenCLContext): boolean {
  using queue = queueOf(cl, { order: "out-of-order" });
  return queue.order === "out-of-order";
}

test("a queue out of order: kernels, a user event, a barrier, a marker", async (open) => {
  const cl = open();
  using program = cl.program(SOURCE);
  using kernel = program.kernel("fill");
  const faults = await sweep(async () => {
    using queue = queueOf(cl, { order: "out-of-order" });
    await using one = cl.allocate({ shape: [SIZE], dtype: "u8" });
    await using two = cl.allocate({ shape: [SIZE], dtype: "u8" });
    using event = cl.userEvent();
    kernel.run([SIZE], [one, 1], { queue, after: event.fence });
    kernel.run([SIZE], [two, 2], { queue });
    using barrier = queue.barrier([event.fence]);
    kernel.run([SIZE], [two, 3], { queue });
    using all = queue.fence();
    using marker = cl.queue.marker([all, barrier]);
    event.complete();
    await marker.wait();
  }, () => quiet(cl));
  for (const fn of ["clEnqueueBarrierWithWaitList", "clEnqueueMarkerWithWaitList"]) some(faults, fn);
  close(cl);
});

test("a queue with profiling: times, finish()", async (open) => {
  const cl = open();
  const times = await sweep(() => {
    using queue = cl.createQueue({ profiling: true });
    using fence = queue.marker();
    fence.waitSync();
    fence.times();
  });
  some(times, "clGetEventProfilingInfo");
  const finish = await sweep(() => {
    using queue = queueOf(cl, { order: "out-of-order" });
    using _ = queue.marker();
    queue.finish();
  });
  some(finish, "clFinish");
  close(cl);
});

test("the end of a queue whose commands are still at work", async (open) => {
  const cl = open();
  using program = cl.program(SOURCE);
  using slow = program.kernel("slow");
  const order = isOutOfOrder(cl) ? "out-of-order" : "in-order";
  using from = cl.allocate({ shape: [2048], dtype: "u8" });
  cl.queue.fill(from, 1);
  const faults = await sweep(() => {
    using one = cl.allocate({ shape: [2048], dtype: "u8" });
    using two = cl.allocate({ shape: [2048], dtype: "u8" });
    using queue = cl.createQueue({ order });
    slow.run([2048], [from, one], { queue });
    slow.run([2048], [from, two], { queue });
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

test("an attached event, of a command and of nobody yet", async (open) => {
  const cl = open();
  const raw = rawQueue(cl);
  const event = new BigUint64Array(1);
  assertEquals(opencl().clEnqueueMarkerWithWaitList(raw, 0, null, event), 0);
  const gateOf = () => opencl().clCreateUserEvent(cl.handle, errcode);
  let gate = gateOf();
  const { clSetUserEventStatus, clReleaseEvent } = opencl();
  const faults = await sweep(async () => {
    // Whatever fails (this call too, once): ends wait for it.
    const set = new Promise<void>((resolve) =>
      setTimeout(() => {
        if (clSetUserEventStatus(gate, 0) !== 0) clSetUserEventStatus(gate, 0);
        resolve();
      }, 2)
    );
    try {
      using done = cl.attachEvent(event[0]);
      using opened = cl.attachEvent(gate);
      await using tensor = cl.allocate({ shape: [SIZE], dtype: "u8" });
      tensor.usedBy(opened);
      cl.queue.fill(tensor, 1);
      using fence = cl.queue.marker([done, opened]);
      await fence.wait();
    } finally {
      await set;
    }
  }, () => {
    quiet(cl);
    assertEquals(clReleaseEvent(gate), 0);
    gate = gateOf();
  }, ["opencl.clSetUserEventStatus", "opencl.clGetEventProfilingInfo"]); // the test asks again; the times, nobody wants
  for (const fn of ["clGetEventInfo", "clRetainEvent", "clReleaseEvent", "clFlush"]) some(faults, fn);
  clSetUserEventStatus(gate, 0);
  for (const each of [gate, event[0] as ClEvent]) assertEquals(clReleaseEvent(each), 0);
  assertEquals(opencl().clReleaseCommandQueue(raw), 0);
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
    queue.writeRect(tensor, SEVENS);
    queue.readRect(tensor, bytes);
  },
  clEnqueueWriteBufferRect(queue, bytes) {
    using tensor = queue.context.allocate(PADDED);
    queue.writeRect(tensor, bytes);
  },
};

for (const order of ["in-order", "out-of-order"] as const) {
  test(`transfers, ${order} where the device can`, async (open) => {
    const cl = open();
    const queue = queueOf(cl, { order });
    for (const [fn, transfer] of Object.entries(TRANSFERS)) {
      const bytes = new Uint8Array(SIZE);
      const faults = await sweep(() => transfer(queue, bytes), () => {
        queue.marker().waitSync();
        queue.finish();
      });
      some(faults, fn);
      if (fn.includes("Read")) assert(bytes.every((byte) => byte === 7), "the last run, without a failure");
    }
    close(queue);
    close(cl);
  });
}

/** A queue that somebody else made. */
function rawQueue(cl: OpenCLContext): ClCommandQueue {
  const raw = opencl().clCreateCommandQueue(cl.handle, cl.device.handle, 0n, errcode);
  assertEquals(errcode[0], 0);
  return raw;
}
