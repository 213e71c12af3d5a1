import { ArgumentError, DisposedError } from "@samepage/interop";
import type { OpenCLContext, OpenCLQueue, OpenCLTensor } from "@samepage/interop/opencl";
import { any, fails, open, OwnFence, safe, safely, same } from "../kit.ts";
import { table } from "../row.ts";

const u8 = (length = 64) => ({ shape: [length], dtype: "u8" }) as const;
const MARK = "kernel void k(global uchar* o) { o[get_global_id(0)]++; }";
const SLOW = `kernel void k(global uchar* o) {
  uint y = o[get_global_id(0)];
  for (uint i = 0; i < 60000; i++) y = y * y + i;
  o[get_global_id(0)] = (uchar)y;
}`;

/** What is not to be collected. */
const kept: unknown[] = [];

/** A queue out of order where the device can. */
function queueOf(cl: OpenCLContext): OpenCLQueue {
  const { outOfOrder } = cl.device.queues;
  return cl.createQueue(outOfOrder ? { order: "out-of-order", profiling: true } : {});
}

/** What a queue can be asked for, with a fence to wait for. */
const USES: Readonly<
  Record<string, (q: OpenCLQueue, t: OpenCLTensor, other: OpenCLTensor, fence: OwnFence) => unknown>
> = {
  marker: (q, _t, _other, fence) => q.marker([fence]),
  barrier: (q, _t, _other, fence) => q.barrier([fence]),
  fill: (q, t) => q.fill(t, 1),
  copyFrom: (q, t, other) => q.copy(t, other),
  copyTo: (q, t, other) => q.copy(other, t),
  migrate: (q, t, other) => q.migrate([other, t], { to: "host" }),
  read: (q, t) => q.read(t, new Uint8Array(64)),
  writeRect: (q, t) => q.writeRect(t, new Uint8Array(64)),
};

export default table(import.meta, {
  "options whose getters dispose the context": {
    opencl: true,
    run() {
      for (const name of ["order", "profiling", "device"]) {
        const own = open();
        const options = Object.defineProperty({}, name, { get: () => own[Symbol.dispose]() });
        fails(name, () => own.createQueue(options), DisposedError);
      }
      const cl = open();
      const device = {
        get handle() {
          cl[Symbol.dispose]();
          return 5n;
        },
      };
      fails("device", () => cl.createQueue({ device: any(device) }), ArgumentError, DisposedError);
    },
  },
  "a fence of the program's own that disposes everything while it is waited for": {
    opencl: true,
    run() {
      for (const [name, use] of Object.entries(USES)) {
        for (const what of ["tensor", "queue", "context"] as const) {
          const context = open();
          const tensor = context.allocate(u8());
          const other = context.allocate(u8());
          const queue = context.createQueue();
          class Ending extends OwnFence {
            override waitSync() {
              this.done = true;
              ({ tensor, queue, context })[what][Symbol.dispose]();
            }
          }
          const fence = new Ending();
          tensor.usedBy(fence);
          const action = () => use(queue, tensor, other, fence);
          if (what === "tensor" && (name === "marker" || name === "barrier")) safe(name, action);
          else fails(`${name} ${what}`, action, DisposedError);
          safe("end", () => context[Symbol.dispose]());
        }
      }
    },
  },
  "layouts and lists whose getters move the bytes away or dispose the tensor": {
    opencl: true,
    run() {
      using cl = open();
      const queue = queueOf(cl);
      const at = (get: () => unknown) => any(Object.defineProperty({ dtype: "u8" }, "shape", { get }));
      const [first, second, third, fourth] = [0, 1, 2, 3].map(() => cl.allocate(u8()));
      const bytes = new Uint8Array(64);
      const moves = at(() => (bytes.buffer.transfer(), [64]));
      fails("moved", () => queue.readRect(first, bytes, moves), ArgumentError);
      const disposes = at(() => (second[Symbol.dispose](), [64]));
      fails("disposed", () => queue.writeRect(second, new Uint8Array(64), disposes), DisposedError);
      const list = [first, third];
      Object.defineProperty(list, 1, { get: () => (first[Symbol.dispose](), third) });
      fails("migrate", () => queue.migrate(list, { to: "host" }), DisposedError);
      const pattern = [1, 2];
      Object.defineProperty(pattern, 1, { get: () => (third[Symbol.dispose](), 2) });
      fails("fill", () => queue.fill(third, pattern), DisposedError);
      const long = (length: number) =>
        any(new Proxy([1], { get: (of, key) => key === "length" ? length : Reflect.get(of, key) }));
      fails("length", () => queue.fill(fourth, long(2 ** 32)), ArgumentError);
      fails("endless", () => queue.marker(long(2 ** 53)), ArgumentError);
      fails("fractions", () => queue.marker(long(0.5)), ArgumentError);
      class Odd extends Uint8Array {
        static get [Symbol.species](): never {
          return any(Array);
        }
        override get length(): number {
          return 3;
        }
      }
      queue.fill(fourth, any(new Odd([7])));
      const got = new Uint8Array(64);
      queue.read(fourth, got);
      same("filled", got.join(), new Uint8Array(64).fill(7).join());
    },
  },
  "commands that fail while others that they stand behind are at work": {
    opencl: true,
    limit: 40,
    async run() {
      const cl = open();
      const queue = queueOf(cl);
      const kernel = cl.program(MARK).kernel("k");
      const slow = cl.program(SLOW).kernel("k");
      for (let turn = 0; turn < 20; turn++) {
        const event = cl.userEvent();
        const [one, two, three] = [0, 1, 2].map(() => cl.allocate(u8(512)));
        slow.run([512], [one], { queue });
        kernel.run([512], [two], { queue, after: event.fence });
        const waits = [queue.marker([queue.lastCommand()]), queue.barrier(), queue.fence()];
        queue.copy(one, two);
        slow.run([512], [three], { queue });
        if (turn % 2 === 0) event.fail();
        event[Symbol.dispose](); // unset, it fails
        if (turn % 3 === 0) safe("finish", () => queue.finish());
        for (const each of [two, one, three]) await safely("end", each[Symbol.asyncDispose]());
        for (const fence of waits) {
          await safely("wait", fence.wait());
          fence[Symbol.dispose]();
        }
      }
      await safely("the context", cl[Symbol.asyncDispose]());
    },
  },
  "the process's end in the middle of it": {
    opencl: true,
    leaves: true,
    run() {
      const cl = open();
      const queue = queueOf(cl);
      const kernel = cl.program(MARK).kernel("k");
      // All of it waits: drivers may fault in their own exit handlers while a thread of theirs is at work.
      const event = cl.userEvent();
      for (let i = 0; i < 200; i++) {
        if (i % 20 === 0) queue.barrier(event.fence);
        const t = cl.allocate(u8());
        kept.push(t, event);
        kernel.run([64], [t], { queue });
      }
      queue.fence().wait().catch(() => {});
    },
  },
  "a fence at every one of ten thousand commands, and markers over all": {
    opencl: true,
    limit: 60,
    run() {
      using cl = open();
      const queue = queueOf(cl);
      using t = cl.allocate(u8());
      const event = cl.userEvent();
      cl.program(MARK).kernel("k").run([64], [t], { queue, after: event.fence });
      const kept: Disposable[] = [];
      for (let i = 0; i < 10_000; i++) {
        queue.fill(t, i % 256);
        kept.push(queue.lastCommand());
        if (i % 500 === 0) kept.push(queue.fence());
      }
      event.complete();
      queue.finish();
      for (const fence of kept) fence[Symbol.dispose]();
      const got = new Uint8Array(64);
      queue.read(t, got);
      same("the last", got[63], 9_999 % 256);
    },
  },
  "fences, tensors and queues of a context that was disposed": {
    opencl: true,
    run() {
      const cl = open();
      const queue = queueOf(cl);
      const t = cl.allocate(u8());
      queue.fill(t, 1);
      const fence = queue.lastCommand();
      const raw = queue.handle;
      cl[Symbol.dispose]();
      const actions: readonly (() => unknown)[] = [
        () => queue.fill(t, 1),
        () => queue.copy(t, t),
        () => queue.readRect(t, new Uint8Array(64)),
        () => queue.migrate([t], { to: "host" }),
        () => queue.marker([fence]),
        () => queue.barrier(),
        () => queue.fence(),
        () => queue.lastCommand(),
        () => queue.finish(),
        () => cl.createQueue(),
        () => cl.attachQueue(raw),
        () => cl.attachEvent(raw),
      ];
      for (const action of actions) fails(String(action), action, DisposedError);
      queue.flush();
      safe("times", () => fence.times());
      fence[Symbol.dispose]();
      fails("times", () => fence.times(), DisposedError);
      using other = open();
      fails("marker", () => other.queue.marker([fence]), DisposedError);
    },
  },
});
