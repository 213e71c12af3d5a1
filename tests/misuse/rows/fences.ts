import { AccessError, ArgumentError, DisposedError, host, MapperGraph } from "@samepage/interop";
import { type OpenCLContext, OpenCLFence, type OpenCLTensor } from "@samepage/interop/opencl";
import { any, fails, open, OwnFence, safe, safely, say, sleep } from "../kit.ts";
import { type Rows, table } from "../row.ts";

const bytes = { shape: [4096], dtype: "u8" } as const;
/** One that is never reached, though its waits return. */
class Never extends OwnFence {
  override waitSync(): void {}
  protected override waitNonblocking(): Promise<void> {
    return Promise.resolve();
  }
}

const PARTS = ["over", "reached", "line", "context", "waitSync", "wait", "retain"] as const;

/** Fences of a program's own, a part of which throws. */
const throwing: Rows = Object.fromEntries(PARTS.map((part) => [
  `a fence whose ${part} throws`,
  {
    limit: 60,
    idle: true,
    warns: /^/, // work that cannot be waited for keeps its memory
    async run() {
      const boom = () => {
        throw new Error("the fence's own");
      };
      const getter = part === "over" || part === "line" || part === "context";
      const fence = () => {
        const fence = new OwnFence();
        Object.defineProperty(fence, part, getter ? { get: boom } : { value: boom });
        if (part === "over") fence.reached = boom;
        return fence;
      };
      const attempt = (action: () => unknown) => {
        try {
          action();
        } catch { /* the fence's own error may come through */ }
      };
      const [a, b, c] = [0, 1, 2].map(() => host.allocate(bytes));
      attempt(() => a.disposeAfter(fence()));
      attempt(() => b.usedBy(fence()));
      attempt(() => c.usedBy(fence()));
      const ends = [c[Symbol.asyncDispose](), a[Symbol.asyncDispose]()];
      attempt(() => b[Symbol.dispose]());
      await Promise.allSettled(ends);
    },
  },
]));

export default table(import.meta, {
  ...throwing,
  "what is no fence": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = host.allocate(bytes);
      fails("usedBy", () => t.usedBy(any(undefined)), ArgumentError);
      fails("disposeAfter", () => t.disposeAfter(any(Promise.resolve())), ArgumentError);
      graph.map(t, cl, { after: any({}) });
    },
    fails: { error: ArgumentError, api: "core", argument: "after", message: /an object is no fence/ },
  },
  "a fence that was disposed": {
    opencl: true,
    run() {
      using cl = open();
      const fence = cl.queue.fence();
      fence[Symbol.dispose]();
      fails("reached", () => fence.reached(), DisposedError);
      fails("retain", () => fence.retain(), DisposedError);
      fence.waitSync();
    },
    fails: { error: DisposedError, api: "opencl", message: /this fence was disposed/ },
  },
  "a wait that is aborted": {
    opencl: true,
    async run() {
      using cl = open();
      using event = cl.userEvent();
      const { fence } = event;
      const mine = new Error("the program's own");
      await fence.wait({ signal: AbortSignal.abort(mine) }).catch((error) => say(error === mine));
      const controller = new AbortController();
      const wait = fence.wait({ signal: controller.signal });
      controller.abort(mine);
      await wait.catch((error) => say(error === mine, fence.over, fence.reached()));
      event.complete();
      await fence.wait();
      say(fence.over);
    },
    says: ["true", "true false false", "true"],
  },
  "a map that fails behind a fence that was disposed": {
    opencl: true,
    run() {
      const cl = open();
      using graph = new MapperGraph([host, cl]);
      const t = host.allocate({ shape: [1 << 20], dtype: "u8" });
      const event = cl.userEvent();
      t.usedBy(event.fence);
      const dead = cl.queue.fence();
      dead[Symbol.dispose]();
      fails("map", () => graph.map(t, cl, { after: dead }), DisposedError);
      event.complete();
      t.view()[0] = 1;
      for (let i = 0; i < 20; i++) cl.allocate({ shape: [100], dtype: "u8" })[Symbol.dispose]();
      t[Symbol.dispose]();
      cl[Symbol.dispose]();
    },
  },
  "a map that fails behind a fence that was disposed, and the context's dispose": {
    opencl: true,
    run() {
      const cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = host.allocate({ shape: [1 << 20], dtype: "u8" });
      const event = cl.userEvent();
      t.usedBy(event.fence);
      const dead = cl.queue.fence();
      dead[Symbol.dispose]();
      fails("map", () => graph.map(t, cl, { after: dead }), DisposedError);
      event.complete();
      cl[Symbol.dispose]();
    },
  },
  "a fence of the program's own that says it stands in our queue, and commands there": {
    opencl: true,
    run() {
      using cl = open();
      using program = cl.program("kernel void k(global uchar* o) { o[get_global_id(0)] = 7; }");
      using kernel = program.kernel("k");
      const commands = [
        (t: OpenCLTensor) => kernel.run([4096], [t]),
        (t: OpenCLTensor) => cl.queue.fill(t, 1),
        (t: OpenCLTensor) => cl.queue.read(t, new Uint8Array(4096)),
      ];
      for (const command of commands) {
        using t = cl.allocate(bytes);
        const fence = Object.assign(new OwnFence(), { line: cl.queue });
        t.usedBy(fence);
        command(t);
        say(fence.done);
      }
    },
    says: ["true", "true", "true"],
  },
  "a fence that is never reached though its wait returns, and a blocking dispose": {
    limit: 25,
    idle: true,
    warns: /could not be waited for; its memory is kept for good/,
    run() {
      const t = host.allocate(bytes);
      t.usedBy(new Never());
      safe("dispose", () => t[Symbol.dispose]()); // after LOST_AFTER_MS at the latest
    },
  },
  "a fence that is never reached, and the event loop": {
    limit: 25,
    idle: true,
    async run() {
      const t = host.allocate(bytes);
      const fence = new Never();
      t.usedBy(fence);
      setTimeout(() => fence.done = true, 100);
      await t[Symbol.asyncDispose]();
    },
  },
  "a fence of the program's own that disposes the source while a map waits": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      const t = host.allocate({ shape: [1 << 20], dtype: "u8" });
      class Disposes extends OwnFence {
        override waitSync() {
          t[Symbol.dispose]();
          this.done = true;
        }
      }
      cl.queue.read(graph.map(t, cl, { after: new Disposes() }), new Uint8Array(1 << 20));
    },
    fails: { error: DisposedError, api: "core", message: /host tensor .* was disposed/ },
  },
  "a fence of the program's own that lends the source while a map waits": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = host.allocate(bytes);
      class Lends extends OwnFence {
        override waitSync() {
          this.done = true;
          t.slice(t.layout);
        }
      }
      graph.map(t, cl, { after: new Lends() });
    },
    fails: { error: AccessError, api: "core", message: /are lent to its slice \[4096\] u8 for/, hint: /Dispose/ },
  },
  "a fence that says it is the device's own, and disposes everything when a map retains it": {
    opencl: true,
    run() {
      const format = { order: "RGBA", type: "UNORM_INT8" } as const;
      const to = { buffer: (cl: OpenCLContext) => cl, image: (cl: OpenCLContext) => cl.image(format) };
      for (const [kind, target] of Object.entries(to)) {
        for (const what of ["source", "cl"] as const) {
          for (let nth = 0; nth < 4; nth++) {
            const cl = open();
            using graph = new MapperGraph([host, cl]);
            using source = host.allocate({ shape: [16, 16, 4], dtype: "u8" });
            class Ending extends OwnFence {
              override readonly context = any<typeof host>(cl);
              #retained = 0;
              override retain() {
                if (this.#retained++ === nth) ({ source, cl })[what][Symbol.dispose]();
                return this;
              }
            }
            const fence = new Ending();
            safe(
              `${kind} ${what}`,
              () => (graph.map(source, any(target(cl)), { after: fence }) as Disposable)[Symbol.dispose](),
            );
            fence.done = true;
            safe("end", () => cl[Symbol.dispose]());
          }
        }
      }
    },
  },
  "work declared on a frame, and a look at its planes": {
    opencl: true,
    run() {
      using cl = open();
      using frame = host.allocateFrame({
        type: "audio",
        format: "f32",
        sampleRate: 8000,
        channels: 2,
        samples: 8,
        layout: "planar",
      });
      using t = host.allocate(bytes);
      using part = t.slice(t.layout, { access: "read" });
      using event = cl.userEvent();
      frame.usedBy(event.fence);
      t.usedBy(event.fence);
      fails("slice", () => part.view(), AccessError);
      try {
        frame.planes[0].view();
      } finally {
        event.complete();
      }
    },
    fails: {
      error: AccessError,
      api: "host",
      message: /is used by work that has not finished/,
      hint: /Await tensor.finished/,
    },
  },
  "release behind work that is not done": {
    opencl: true,
    async run() {
      using cl = open();
      const t = host.wrap(new Uint8Array(64).fill(3));
      const event = cl.userEvent();
      t.usedBy(event.fence);
      fails("release", () => t.release(), AccessError);
      event.complete();
      await sleep(50);
      say(new Uint8Array(t.release())[0]);
    },
    says: ["3"],
  },
  "finished(), of work that fails, of work behind an event, and of what is disposed meanwhile": {
    opencl: true,
    async run() {
      using cl = open();
      const t = host.allocate(bytes);
      await t.finished();
      const event = cl.userEvent();
      t.usedBy(event.fence);
      const waits = t.finished();
      event.complete();
      await waits;
      say(t.view().length > 0);
      const failing = cl.userEvent();
      t.usedBy(failing.fence);
      const fails = t.finished().catch((error: Error) => say(error.name));
      failing.fail();
      await fails;
      await t[Symbol.asyncDispose]().catch((error: Error) => say("dispose", error.name));
      const other = host.allocate(bytes);
      const late = cl.userEvent();
      other.usedBy(late.fence);
      const meanwhile = other.finished();
      const ended = other[Symbol.asyncDispose]();
      late.complete();
      await Promise.all([meanwhile, ended]);
      await other.finished();
    },
    says: ["true", "NativeCallError", "dispose NativeCallError"],
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
  "fences that outlive their context": {
    opencl: true,
    async run() {
      const cl = open();
      const t = cl.allocate({ shape: [64], dtype: "u8" });
      const k = cl.program("kernel void k(global uchar* o) { o[get_global_id(0)] = 1; }").kernel("k");
      k.run([64], [t]);
      const second = cl.createQueue();
      k.run([64], [t], { queue: second });
      const fences = [cl.queue.fence(), second.fence(), cl.userEvent().fence.retain()];
      cl[Symbol.dispose]();
      (globalThis as unknown as { gc(): void }).gc();
      for (let i = 0; i < 3; i++) open()[Symbol.dispose]();
      for (const fence of fences) {
        safe("reached", () => fence.reached());
        safe("waitSync", () => fence.waitSync());
        await safely("wait", fence.wait());
        fence.retain()[Symbol.dispose]();
        fence[Symbol.dispose]();
        fence[Symbol.dispose]();
        fails("after dispose", () => fence.reached(), DisposedError);
      }
    },
  },
  "a fence that a program makes of its own words": {
    opencl: true,
    run() {
      using cl = open();
      const chain = {};
      const point = {
        share: () => point,
        drop() {},
        flush() {},
        over: () => false,
        raise() {},
        event: 1n,
        gates: [],
        chain,
      };
      new OpenCLFence(cl, undefined, any(point));
    },
    fails: { error: ArgumentError, api: "opencl", argument: "point", message: /none of ours/ },
  },
  "work that ends while other work is put behind it": {
    opencl: true,
    limit: 60,
    run() {
      using cl = open();
      using program = cl.program(`kernel void k(global int* a, global int* b, int turns) {
        int x = a[0];
        for (int i = 0; i < turns; i++) x = x * x + i;
        a[0] = x;
        b[0] = x;
      }`);
      using k = program.kernel("k");
      using second = cl.createQueue();
      using a = cl.allocate({ shape: [4], dtype: "i32" });
      using b = cl.allocate({ shape: [4], dtype: "i32" });
      for (const tensor of [a, b]) cl.queue.write(tensor, new Int32Array(4));
      // Both tensors carry a fence of the same command, which may end between one look at it and the next.
      for (const end = performance.now() + 4000; performance.now() < end;) {
        k.run([1], [a, b, Math.floor(Math.random() * 3000)], { queue: second });
        second.flush();
        for (const until = performance.now() + Math.random() * 0.1; performance.now() < until;);
        k.run([1], [a, b, 1]);
        cl.queue.finish();
      }
    },
  },
});
