import { AccessError, ArgumentError, DisposedError, NativeCallError } from "@samepage/interop";
import type { OpenCLContext, OpenCLKernel, OpenCLQueue, OpenCLTensor } from "@samepage/interop/opencl";
import { any, fails, judge, open, OwnFence, safe, safely, same, say, settled } from "../kit.ts";
import { type Failure, table } from "../row.ts";

const bytes = { shape: [64], dtype: "u8" } as const;

function wrong(argument: string, message: RegExp, hint?: RegExp): Failure {
  return { error: ArgumentError, api: "opencl", argument, message, ...(hint === undefined ? {} : { hint }) };
}

/** What lives to the process's end: no finalizer is to warn of it. */
const kept: unknown[] = [];

/** A queue that may run commands in any order, where the device can. */
function anyOrder(cl: OpenCLContext): OpenCLQueue {
  return cl.createQueue(cl.device.queues.outOfOrder ? { order: "out-of-order" } : {});
}

/** Kernels that live as long as the context. */
function kernels(cl: OpenCLContext): { add: OpenCLKernel; slow: OpenCLKernel } {
  const program = cl.program(`
kernel void add(global uchar* x) { x[get_global_id(0)]++; }
kernel void slow(global uchar* x) {
  uint y = x[get_global_id(0)];
  for (uint i = 0; i < 60000; i++) y = y * y + i;
  x[get_global_id(0)] = (uchar)y;
}`);
  return { add: program.kernel("add"), slow: program.kernel("slow") };
}

/** The event behind a fence. */
function eventOf({ fence }: { fence: { point: { event: bigint | undefined } } }): bigint {
  return fence.point.event!;
}

export default table(import.meta, {
  "a queue of no known order": {
    opencl: true,
    run() {
      using cl = open();
      for (const order of [null, 1, {}, "", "toString"]) {
        fails(String(order), () => cl.createQueue({ order: any(order) }), ArgumentError);
      }
      cl.createQueue({ order: any("OutOfOrder") });
    },
    fails: wrong("order", /OutOfOrder is none/, /Use "in-order" or "out-of-order"/),
  },
  "a queue out of order, of a device that has none": {
    opencl: "rusticl",
    run() {
      using cl = open();
      cl.createQueue({ order: "out-of-order" });
    },
    fails: wrong("order", /runs commands in order only/, /several of them/),
  },
  "a queue with half a profiling": {
    opencl: true,
    run() {
      using cl = open();
      cl.createQueue({ profiling: any("yes") });
    },
    fails: wrong("profiling", /neither true nor false/),
  },
  "an option that disposes the context": {
    opencl: true,
    run() {
      for (const name of ["order", "profiling", "device"]) {
        const cl = open();
        const options = Object.defineProperty({}, name, { get: () => void cl[Symbol.dispose]() });
        fails(name, () => cl.createQueue(options), DisposedError);
      }
    },
  },
  "times of a queue without profiling": {
    opencl: true,
    run() {
      using cl = open();
      using fence = cl.queue.lastCommand();
      fence.waitSync();
      fence.times();
    },
    fails: {
      ...wrong("profiling", /no times are kept of this work/, /createQueue\({ profiling: true }\)/),
      fn: "clGetEventProfilingInfo",
    },
  },
  "times of work that is not done": {
    opencl: true,
    run() {
      using cl = open();
      using event = cl.userEvent();
      using queue = cl.createQueue({ profiling: true });
      using fence = queue.marker([event.fence]);
      try {
        fence.times();
      } finally {
        event.complete();
      }
    },
    fails: { ...wrong("fence", /the work is not done yet/, /Wait for it first/), fn: "clGetEventProfilingInfo" },
  },
  "a marker behind what is no fence": {
    opencl: true,
    run() {
      using cl = open();
      for (const after of [null, 5, {}, [null], new Array(3), new Array(2 ** 32 - 1), [Promise.resolve()]]) {
        fails("marker", () => cl.queue.marker(any(after)), ArgumentError);
        fails("barrier", () => cl.queue.barrier(any(after)), ArgumentError);
      }
      const long = (length: number) =>
        new Proxy([], { get: (of, name) => name === "length" ? length : Reflect.get(of, name) });
      for (const length of [2 ** 53, Infinity]) {
        fails("length", () => cl.queue.marker(any(long(length))), ArgumentError);
      }
      cl.queue.marker([cl.queue.fence(), any("x")]);
    },
    fails: wrong("after[1]", /it is to be an Fence; got string/),
  },
  "a list of fences that disposes one of them, and the queue": {
    opencl: true,
    run() {
      using cl = open();
      using event = cl.userEvent();
      const queue = cl.createQueue();
      const after = [event.fence.retain(), event.fence];
      Object.defineProperty(after, 1, {
        get() {
          after[0][Symbol.dispose]();
          queue[Symbol.dispose]();
          return event.fence;
        },
      });
      queue.barrier(after);
    },
    fails: { error: DisposedError, api: "core", message: /opencl queue .* was disposed/ },
  },
  "a fence of the program's own that disposes everything while it is waited for": {
    opencl: true,
    run() {
      type Use = (queue: OpenCLQueue, t: OpenCLTensor, other: OpenCLTensor, fence: OwnFence) => unknown;
      const uses: Readonly<Record<string, Use>> = {
        marker: (queue, _t, _other, fence) => queue.marker([fence]),
        barrier: (queue, _t, _other, fence) => queue.barrier([fence]),
        fill: (queue, t) => queue.fill(t, 1),
        copyFrom: (queue, t, other) => queue.copy(t, other),
        copyTo: (queue, t, other) => queue.copy(other, t),
        migrate: (queue, t, other) => queue.migrate([other, t], { to: "host" }),
        read: (queue, t) => queue.read(t, new Uint8Array(64)),
        writeRect: (queue, t) => queue.writeRect(t, new Uint8Array(64)),
      };
      for (const [name, use] of Object.entries(uses)) {
        for (const what of ["tensor", "queue", "context"] as const) {
          const cl = open();
          const [t, other] = [cl.allocate(bytes), cl.allocate(bytes)];
          const queue = cl.createQueue();
          const ended = { tensor: t, queue, context: cl };
          class Ending extends OwnFence {
            override waitSync(): void {
              this.done = true;
              ended[what][Symbol.dispose]();
            }
          }
          const fence = new Ending();
          t.usedBy(fence);
          const action = () => use(queue, t, other, fence);
          if (what === "tensor" && (name === "marker" || name === "barrier")) action();
          else fails(`${name}, ${what}`, action, DisposedError);
          cl[Symbol.dispose]();
        }
      }
    },
  },
  "commands that fail while what they stand behind is at work": {
    opencl: true,
    limit: 60,
    async run() {
      const cl = open();
      const { add, slow } = kernels(cl);
      const queue = anyOrder(cl);
      for (let turn = 0; turn < 20; turn++) {
        using event = cl.userEvent();
        const [one, two, three] = [0, 1, 2].map(() => cl.allocate({ shape: [512], dtype: "u8" }));
        slow.run([512], [one], { queue });
        add.run([512], [two], { queue, after: event.fence });
        const waits = [queue.marker([queue.lastCommand()]), queue.barrier(), queue.fence()];
        queue.copy(one, two);
        slow.run([512], [three], { queue });
        if (turn % 2 === 0) event.fail();
        else event[Symbol.dispose]();
        if (turn % 3 === 0) safe("finish", () => queue.finish());
        for (const tensor of [two, one, three]) await safely("end", tensor[Symbol.asyncDispose]());
        for (const fence of waits) {
          await safely("wait", fence.wait());
          fence[Symbol.dispose]();
        }
      }
      await safely("the context's end", cl[Symbol.asyncDispose]());
    },
  },
  "a command behind a fence that failed": {
    opencl: true,
    run() {
      using cl = open();
      using event = cl.userEvent();
      event.fail(-9);
      cl.queue.marker(event.fence);
    },
    fails: {
      error: NativeCallError,
      ...{ api: "opencl", fn: "clSetUserEventStatus", code: -9, codeName: "CL_IMAGE_FORMAT_MISMATCH" },
      message: /ended with CL_IMAGE_FORMAT_MISMATCH/,
      hint: /It failed itself/,
    },
  },
  "finish() of a queue whose first command waits for an event": {
    opencl: true,
    run() {
      using cl = open();
      using event = cl.userEvent();
      using queue = anyOrder(cl);
      using t = cl.allocate(bytes);
      using _ = queue.barrier(event.fence);
      queue.fill(t, 1);
      try {
        fails("read", () => queue.read(t, new Uint8Array(64)), AccessError);
        queue.finish();
      } finally {
        event.complete();
      }
    },
    fails: {
      error: AccessError,
      ...{ api: "opencl", argument: "fence" },
      message: /finish\(\) could never end/,
      hint: /Set the event first/,
    },
  },
  "ten thousand commands behind an event, a fence at each": {
    opencl: true,
    limit: 60,
    run() {
      using cl = open();
      const queue = anyOrder(cl);
      using event = cl.userEvent();
      using t = cl.allocate(bytes);
      t.usedBy(event.fence);
      const fences = [];
      for (let i = 0; i < 10_000; i++) {
        queue.fill(t, i % 256);
        fences.push(queue.lastCommand());
      }
      event.complete();
      queue.finish();
      for (const fence of fences) {
        fence.waitSync(); // rusticl 22.3 says of the last one first that it is done
        fence[Symbol.dispose]();
      }
      const got = new Uint8Array(64);
      queue.read(t, got);
      say(got[63]); // 9999 % 256
    },
    says: ["15"],
  },
  "the process's end in the middle of a queue out of order": {
    opencl: true,
    leaves: true,
    run() {
      const cl = open();
      const all = kernels(cl);
      const queue = anyOrder(cl);
      const event = cl.userEvent();
      // The first command waits: rusticl 22.3 may fault in its own exit handlers while its thread is at work.
      for (let i = 0; i < 200; i++) {
        if (i % 20 === 0) queue.barrier();
        const tensor = cl.allocate(bytes);
        all.add.run([64], [tensor], { queue, ...(i === 0 ? { after: event.fence } : {}) });
        kept.push(tensor);
      }
      kept.push(event, all);
      queue.fence().wait().catch(() => {});
    },
  },
  "a queue that is none, attached": {
    opencl: true,
    run() {
      using cl = open();
      for (const handle of [0n, -1n, 2n ** 64n, 5, null, undefined, {}, { valueOf: () => 5n }]) {
        fails(String(handle), () => cl.attachQueue(any(handle)), ArgumentError);
      }
      cl.attachQueue(any("0x1000"));
    },
    fails: wrong("handle", /it is to be a bigint; got string/),
  },
  "another context's queue, attached": {
    opencl: true,
    run() {
      using cl = open();
      using other = open();
      cl.attachQueue(other.queue.handle);
    },
    fails: wrong("handle", /the queue is of another cl_context/),
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
  "an event that is none, attached": {
    opencl: true,
    run() {
      using cl = open();
      for (const handle of [0n, -1n, 2n ** 64n, 5, null, undefined, {}, Symbol.iterator]) {
        fails(String(handle), () => cl.attachEvent(any(handle)), ArgumentError);
      }
      cl.attachEvent(0n);
    },
    fails: wrong("handle", /it is null/),
  },
  "another context's event, attached": {
    opencl: true,
    run() {
      using cl = open();
      using other = open();
      using event = other.userEvent();
      cl.attachEvent(eventOf(event));
    },
    fails: wrong("handle", /the event is of another cl_context/),
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
  "fences, queues and transfers of a disposed context": {
    opencl: true,
    run() {
      const cl = open();
      const queue = cl.createQueue({ profiling: true });
      const t = cl.allocate(bytes);
      queue.fill(t, 1);
      const fence = queue.lastCommand();
      const { handle } = queue;
      cl[Symbol.dispose]();
      const actions = [
        () => queue.fill(t, 1),
        () => queue.copy(t, t),
        () => queue.readRect(t, new Uint8Array(64)),
        () => queue.migrate([t], { to: "host" }),
        () => queue.marker([fence]),
        () => queue.barrier(),
        () => queue.lastCommand(),
        () => cl.createQueue(),
        () => cl.attachQueue(handle),
        () => cl.attachEvent(handle),
      ];
      for (const action of actions) fails(String(action), action, DisposedError);
      const { queued, ended } = fence.times();
      same("times", queued <= ended, true);
      fence[Symbol.dispose]();
      try {
        fence.times();
      } catch (error) {
        judge("times", error, [DisposedError]);
      }
    },
  },
});
