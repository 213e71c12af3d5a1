import { AccessError, ArgumentError } from "@samepage/interop";
import { OpenCLContext, OpenCLFence } from "@samepage/interop/opencl";
import { fails, open, say, settled } from "../kit.ts";
import { table } from "../row.ts";

const bytes = { shape: [64], dtype: "u8" } as const;

/** The event behind a fence. */
function eventOf({ fence }: { fence: OpenCLFence }): bigint {
  return OpenCLFence.pointOf(fence)!.event!;
}

export default table(import.meta, {
  "samepage's own queue, attached, where it waits for a user event that is not set": {
    opencl: true,
    async run() {
      using cl = open();
      using event = cl.userEvent();
      const other = OpenCLContext.attach(cl.handle); // the same cl_context, whose queues can be attached to it too
      const queues = [cl.attachQueue(cl.queue.handle), other.attachQueue(cl.queue.handle)];
      using behind = cl.queue.marker([event.fence]);
      for (const [i, queue] of queues.entries()) {
        const t = [cl, other][i].allocate(bytes);
        fails("finish", () => queue.finish(), AccessError);
        fails("read", () => queue.read(t, new Uint8Array(64)), AccessError);
        using marker = queue.marker();
        fails("wait", () => marker.waitSync(), AccessError);
        queue.fill(t, 3);
        queue[Symbol.dispose](); // the context's own queue is still there
      }
      event.complete();
      await behind.wait();
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
      say(got[63], queue.order);
    },
    says: ["3 in-order"],
  },
  "another context's event, attached": {
    opencl: true,
    run() {
      using cl = open();
      using other = open();
      using event = other.userEvent();
      cl.attachEvent(eventOf(event));
    },
    fails: { error: ArgumentError, api: "opencl", argument: "handle", message: /the event is of another cl_context/ },
  },
  "an attached event that nobody has set yet": {
    opencl: true,
    async run() {
      using cl = open();
      using event = cl.userEvent();
      using t = cl.allocate(bytes);
      {
        using fence = cl.attachEvent(eventOf(event));
        t.usedBy(fence);
        fails("waitSync", () => fence.waitSync(), AccessError);
        fails("read", () => cl.queue.read(t, new Uint8Array(64)), AccessError);
      }
      cl.queue.fill(t, 1);
      using filled = cl.queue.lastCommand();
      fails("finish", () => cl.queue.finish(), AccessError);
      const waiting = settled(filled.wait());
      event.complete();
      say(await waiting);
    },
    says: ["ok"],
  },
});
