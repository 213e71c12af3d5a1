import { AccessError, ArgumentError, DisposedError, host, MapperGraph } from "@samepage/interop";
import { any, fails, open, opening, outcome, OwnError, say } from "../kit.ts";
import { table } from "../row.ts";

const bytes = { shape: [4096], dtype: "u8" } as const;

export default table(import.meta, {
  "anything but a fence": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = host.allocate(bytes);
      const fence = cl.queue.fence();
      for (const wrong of [undefined, null, 5, cl.queue, Promise.resolve(), { ...fence }, Object.create(fence)]) {
        fails("usedBy", () => t.usedBy(any(wrong)), ArgumentError);
        fails("disposeAfter", () => t.disposeAfter(any(wrong)), ArgumentError);
        fails("waitFor", () => cl.queue.waitFor([fence, any(wrong)]), ArgumentError);
      }
      graph.map(t, cl, { after: any({}) });
    },
    fails: {
      ...{ error: ArgumentError, api: "core", argument: "after", message: /expected a fence, got an Object/ },
      hint: /host\.signal\(promise\), or queue\.fence\(\)/,
    },
  },
  "a promise in place of a fence": {
    run() {
      using t = host.allocate(bytes);
      t.disposeAfter(any(Promise.resolve()));
    },
    fails: {
      ...{ error: ArgumentError, api: "core", argument: "fence", message: /expected a fence, got a Promise/ },
      hint: /host\.signal\(promise\)\.$/,
    },
  },
  "a signal in place of the options with a signal": {
    run: () => host.signal(Promise.resolve()).wait(any(AbortSignal.abort())),
    fails: {
      ...{ error: ArgumentError, api: "core", argument: "options" },
      message: /expected \{ signal \}, got an AbortSignal/,
    },
  },
  "awaited, without a call of wait()": {
    opencl: true,
    async run() {
      using cl = open();
      using t = cl.allocate(bytes);
      cl.queue.fill(t, 1);
      const fence = cl.queue.fence();
      await fence;
      say(fence.reached(), (await Promise.all([fence, cl.queue.fence()])).length);
      await fence.then(() => say("reached"));
      const failed = opening();
      const mine = new OwnError("the program's own");
      await failed.fail(mine);
      try {
        await failed.fence;
      } catch (error) {
        say(error === mine);
      }
    },
    says: ["true 2", "reached", "true"],
  },
  "a wait that is aborted": {
    opencl: true,
    async run() {
      using cl = open();
      using event = opening();
      const mine = new Error("the program's own");
      for (const fence of [event.fence, cl.queue.waitFor(event.fence)]) {
        await fence.wait({ signal: AbortSignal.abort(mine) }).catch((error) => say(error === mine));
        const controller = new AbortController();
        const wait = fence.wait({ signal: controller.signal });
        controller.abort(mine);
        await wait.catch((error) => say(error === mine, fence.reached()));
      }
      await event.complete();
      await cl.queue.fence().wait();
      say(event.fence.reached(), cl.queue.fence().reached());
    },
    says: ["true", "true false", "true", "true false", "true true"],
  },
  "maps behind work that failed, and the context's dispose": {
    opencl: true,
    async run() {
      const cl = open();
      using graph = new MapperGraph([host, cl]);
      const t = host.allocate({ shape: [1 << 20], dtype: "u8" });
      const [event, failed] = [opening(), opening()];
      t.usedBy(event.fence);
      const mine = new OwnError("the program's own");
      await failed.fail(mine);
      try {
        graph.map(t, cl, { after: failed.fence });
      } catch (error) {
        say(error === mine);
      }
      await event.complete();
      t.view()[0] = 1;
      for (let i = 0; i < 20; i++) cl.allocate({ shape: [100], dtype: "u8" })[Symbol.dispose]();
      t[Symbol.dispose]();
      cl[Symbol.dispose]();
    },
    says: ["true"],
  },
  "a promise that never settles, and a blocking dispose": {
    leaves: true,
    run() {
      const t = host.allocate(bytes);
      t.usedBy(opening().fence);
      t[Symbol.dispose]();
    },
    fails: {
      error: AccessError,
      ...{ api: "host", argument: "fence" },
      message: /could never end: the work waits for a promise that is not settled/,
      hint: /await/,
    },
  },
  "a promise that settles late, and the event loop": {
    async run() {
      const t = host.allocate(bytes);
      const event = opening();
      t.usedBy(event.fence);
      setTimeout(() => event.complete(), 100);
      await t[Symbol.asyncDispose]();
      say(t.resource.state);
    },
    says: ["freed"],
  },
  "work declared on a frame, and a look at its planes": {
    async run() {
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
      using event = opening();
      frame.usedBy(event.fence);
      t.usedBy(event.fence);
      fails("slice", () => part.view(), AccessError);
      try {
        frame.planes[0].view();
      } finally {
        await event.complete();
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
    async run() {
      const t = host.wrap(new Uint8Array(64).fill(3));
      const event = opening();
      t.usedBy(event.fence);
      fails("release", () => t.release(), AccessError);
      await event.complete();
      say(new Uint8Array(t.release())[0]);
    },
    says: ["3"],
  },
  "finished(), of work that fails, of work behind a promise, and of what is disposed meanwhile": {
    async run() {
      const t = host.allocate(bytes);
      await t.finished();
      const event = opening();
      t.usedBy(event.fence);
      const waits = t.finished();
      await event.complete();
      await waits;
      say(t.view().length > 0);
      const failing = opening();
      t.usedBy(failing.fence);
      const fails = t.finished().catch((error: Error) => say(error.constructor.name));
      await failing.fail();
      await fails;
      await t[Symbol.asyncDispose]();
      const other = host.allocate(bytes);
      const late = opening();
      other.usedBy(late.fence);
      const meanwhile = other.finished();
      const ended = other[Symbol.asyncDispose]();
      await late.complete();
      await Promise.all([meanwhile, ended]);
      await other.finished();
    },
    says: ["true", "OwnError"],
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
  "fences that outlive their context": {
    opencl: true,
    async run() {
      const cl = open();
      const t = cl.allocate({ shape: [64], dtype: "u8" });
      const k = cl.program("kernel void k(global uchar* o) { o[get_global_id(0)] = 1; }").kernel("k");
      k.run({ items: [64] }, [t]);
      const second = cl.createQueue();
      k.run({ items: [64] }, [t], { queue: second });
      const fences = [cl.queue.fence(), second.fence(), second.waitFor(cl.queue.fence())];
      cl[Symbol.dispose]();
      (globalThis as unknown as { gc(): void }).gc();
      for (let i = 0; i < 3; i++) open()[Symbol.dispose]();
      for (const fence of fences) {
        fence.waitSync();
        await fence.wait();
        say(fence.reached());
      }
      using other = open();
      other.queue.waitFor(fences).waitSync(); // they are over
    },
    says: ["true", "true", "true"],
  },
  "queues and tensors of a context that was disposed": {
    opencl: true,
    run() {
      const cl = open();
      const queue = cl.createQueue({ profiling: true });
      const t = cl.allocate(bytes);
      queue.fill(t, 1);
      const fence = queue.fence();
      const raw = queue.handle;
      cl[Symbol.dispose]();
      const actions: readonly (() => unknown)[] = [
        () => queue.fill(t, 1),
        () => queue.copy(t, t),
        () => queue.read(t, new Uint8Array(4096), { at: "dense" }),
        () => queue.migrate([t], { to: "host" }),
        () => queue.waitFor(fence),
        () => queue.waitFor([]),
        () => queue.fence(),
        () => queue.finish(),
        () => cl.createQueue(),
        () => cl.attachQueue(raw),
        () => cl.attachEvent(raw),
      ];
      for (const action of actions) fails(String(action), action, DisposedError);
      queue.flush();
      say(outcome(() => queue.times(fence)));
    },
    says: ["ok"],
  },
  "a fence at every one of ten thousand commands": {
    opencl: true,
    async run() {
      using cl = open();
      using t = cl.allocate(bytes);
      using event = opening();
      cl.queue.waitFor(event.fence);
      const fences = [];
      for (let i = 0; i < 10_000; i++) {
        cl.queue.fill(t, i % 256);
        fences.push(i % 500 === 0 ? cl.queue.waitFor(cl.queue.fence()) : cl.queue.fence());
      }
      await event.complete();
      cl.queue.finish();
      say(fences.every((fence) => fence.reached()));
      const got = new Uint8Array(4096);
      cl.queue.read(t, got);
      say(got[63] === 9_999 % 256);
    },
    says: ["true", "true"],
  },
  "work that ends while other work is put behind it": {
    opencl: true,
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
      for (const end = performance.now() + 2000; performance.now() < end;) {
        k.run({ items: [1] }, [a, b, Math.floor(Math.random() * 3000)], { queue: second });
        second.flush();
        for (const until = performance.now() + Math.random() * 0.1; performance.now() < until;);
        k.run({ items: [1] }, [a, b, 1]);
        cl.queue.finish();
      }
    },
  },
});
