import { AccessError, ArgumentError } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_QUEUE_PROPERTIES } from "../../../ffi/opencl/constants.ts";
import { SYMBOLS } from "../../../ffi/opencl/symbols.ts";
import { fails, open, opening, same, say, settled } from "../kit.ts";
import { table } from "../row.ts";

const bytes = { shape: [64], dtype: "u8" } as const;

/** OpenCL as a user's own code calls it. */
const raw = () => Deno.dlopen("libOpenCL.so.1", SYMBOLS).symbols;

/** A `cl_event` that its maker sets, and releases. */
class UserEvent implements Disposable {
  readonly handle: bigint;
  #isSet = false;

  constructor(cl: OpenCLContext) {
    this.handle = raw().clCreateUserEvent(cl.handle, null);
  }

  set(): void {
    this.#isSet = true;
    same("clSetUserEventStatus", raw().clSetUserEventStatus(this.handle, 0), 0);
  }

  [Symbol.dispose](): void {
    if (!this.#isSet) this.set();
    raw().clReleaseEvent(this.handle);
  }
}

export default table(import.meta, {
  "a queue that runs commands out of order, attached": {
    opencl: true,
    run() {
      using cl = open();
      const properties = BigUint64Array.of(
        BigInt(CL_QUEUE_PROPERTIES),
        CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
        0n,
      );
      const { clCreateCommandQueueWithProperties, clReleaseCommandQueue } = raw();
      // rusticl 22.3 makes those that it says it cannot.
      const handle = clCreateCommandQueueWithProperties!(cl.handle, cl.device.handle, properties, null);
      try {
        cl.attachQueue(handle);
      } finally {
        clReleaseCommandQueue(handle);
      }
    },
    fails: {
      ...{ error: ArgumentError, api: "opencl", argument: "handle" },
      message: /the queue runs commands out of order/,
      hint: /Several queues in order overlap/,
    },
  },
  "samepage's own queue, attached, where it waits for a promise that is not settled": {
    opencl: true,
    async run() {
      using cl = open();
      const event = opening();
      const other = OpenCLContext.attach(cl.handle); // the same cl_context, whose queues can be attached to it too
      const queues = [cl.attachQueue(cl.queue.handle), other.attachQueue(cl.queue.handle)];
      const behind = cl.queue.waitFor(event.fence);
      const tensors = [cl, other].map((context) => context.allocate(bytes));
      for (const [i, queue] of queues.entries()) {
        const t = tensors[i];
        fails("finish", () => queue.finish(), AccessError);
        fails("read", () => queue.read(t, new Uint8Array(64)), AccessError);
        const fence = queue.fence();
        fails("wait", () => fence.waitSync(), AccessError);
        queue.fill(t, 3);
      }
      await event.complete();
      await behind.wait();
      for (const each of [...queues, ...tensors]) each[Symbol.dispose]();
      await other[Symbol.asyncDispose]();
    },
  },
  "a queue attached, and used when its owner has disposed it": {
    opencl: true,
    run() {
      using cl = open();
      const owner = cl.createQueue();
      using queue = cl.attachQueue(owner.handle);
      using t = cl.allocate(bytes);
      owner[Symbol.dispose]();
      queue.fill(t, 3);
      const got = new Uint8Array(64);
      queue.read(t, got);
      say(got[63]);
    },
    says: ["3"],
  },
  "another context's event, attached": {
    opencl: true,
    run() {
      using cl = open();
      using other = open();
      using event = new UserEvent(other);
      cl.attachEvent(event.handle);
    },
    fails: { error: ArgumentError, api: "opencl", argument: "handle", message: /the event is of another cl_context/ },
  },
  "an attached event that is not set yet": {
    opencl: true,
    async run() {
      using cl = open();
      using event = new UserEvent(cl);
      using t = cl.allocate(bytes);
      const fence = cl.attachEvent(event.handle);
      t.usedBy(fence);
      fails("waitSync", () => fence.waitSync(), AccessError);
      fails("read", () => cl.queue.read(t, new Uint8Array(64)), AccessError);
      cl.queue.fill(t, 1);
      const filled = cl.queue.fence();
      fails("finish", () => cl.queue.finish(), AccessError);
      const waiting = settled(filled.wait());
      event.set();
      say(await waiting);
    },
    says: ["ok"],
  },
  "an attached event that its maker has released": {
    opencl: true,
    async run() {
      using cl = open();
      using t = cl.allocate(bytes);
      let fence;
      {
        using event = new UserEvent(cl);
        fence = cl.attachEvent(event.handle);
        cl.queue.waitFor(fence);
        cl.queue.fill(t, 3);
      }
      await fence.wait();
      fence.waitSync();
      cl.queue.finish();
      say(fence.reached());
    },
    says: ["true"],
  },
});
