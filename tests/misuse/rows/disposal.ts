import { DisposedError, Frame, host, MapperGraph } from "@samepage/interop";
import { OpenCLQueue } from "@samepage/interop/opencl";
import { busy } from "../busy.ts";
import { any, collect, fails, grey, open, opening, safe, same, say } from "../kit.ts";
import { type Rows, table } from "../row.ts";

const THINGS = ["graph", "context", "queue", "mapped", "source"] as const;
type Thing = typeof THINGS[number];

function ordersOf<T>(things: readonly T[]): T[][] {
  if (things.length === 0) return [[]];
  return things.flatMap((first) => ordersOf(things.filter((each) => each !== first)).map((rest) => [first, ...rest]));
}

/** A map with work in flight on two queues, ended in this order, blocking or not. */
async function dispose(order: readonly Thing[], awaited: boolean): Promise<void> {
  const { cl: context, graph, source, mapped, add } = busy(open(), 2000);
  const queue = context.createQueue();
  add.run({ items: [8192] }, [mapped, 1], { queue });
  const things = { graph, context, queue, mapped, source };
  for (const name of order) {
    const thing: Disposable & Partial<AsyncDisposable> = things[name];
    if (awaited && thing[Symbol.asyncDispose] !== undefined) await thing[Symbol.asyncDispose]!();
    else thing[Symbol.dispose]();
    thing[Symbol.dispose](); // again
  }
  const uses: readonly (() => unknown)[] = [
    () => graph.map(source, context),
    () => context.allocate({ shape: [1], dtype: "u8" }),
    () => queue.fence(),
    () => mapped.handle,
    () => source.view(),
  ];
  for (const use of uses) fails(String(use), use, DisposedError);
}

/** Every order of the five, a row for each that stands first. */
const orders: Rows = Object.fromEntries(THINGS.map((first) => [
  `${THINGS.join(", ")}: in every order that begins with the ${first}`,
  {
    opencl: true,
    async run() {
      const orders = ordersOf(THINGS).filter((order) => order[0] === first);
      for (const [i, order] of orders.entries()) await dispose(order, i % 2 === 1);
      say(orders.length);
    },
    says: ["24"],
  },
]));

export default table(import.meta, {
  ...orders,
  "an error in the middle of using": {
    opencl: true,
    run() {
      const mine = new Error("the program's own");
      try {
        using cl = open();
        using graph = new MapperGraph([host, cl]);
        using t = host.allocate({ shape: [64], dtype: "u8" });
        using _ = graph.map(t, cl);
        throw mine;
      } catch (error) {
        say(error === mine);
      }
    },
    says: ["true"],
  },
  "an error in the middle of await using, with work in flight": {
    opencl: true,
    async run() {
      const mine = new Error("the program's own");
      try {
        await using cl = open();
        const { source, mapped } = busy(cl);
        await using _source = source;
        await using _mapped = mapped;
        throw mine;
      } catch (error) {
        say(error === mine);
      }
    },
    says: ["true"],
  },
  "an error in the middle of using, and work that fails": {
    opencl: true,
    async run() {
      const mine = new Error("the program's own");
      using cl = open();
      const { source, mapped, add } = busy(cl);
      using _source = source;
      try {
        using _mapped = mapped;
        using event = opening();
        add.run({ items: [8192] }, [mapped, 1], { after: event.fence });
        await event.fail();
        throw mine;
      } catch (error) {
        const { suppressed, error: failure } = error as SuppressedError;
        say(suppressed === mine, failure.constructor.name);
      }
    },
    says: ["true NativeCallError"],
  },
  "a context whose own queue was disposed": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using t = cl.allocate({ shape: [64], dtype: "u8" });
      using h = host.allocate({ shape: [64], dtype: "u8" });
      safe("dispose", () => cl.queue[Symbol.dispose]());
      safe("opencl→host", () => graph.map(t, host)[Symbol.dispose]());
      const mapped = safe("host→opencl", () => graph.map(h, cl));
      fails("write", () => cl.queue.write(t, new Uint8Array(64)), DisposedError);
      safe("unmap", () => mapped?.[Symbol.dispose]());
      fails("flush", () => cl.queue.handle, DisposedError);
      safe("flush", () => cl.queue.flush());
      cl.queue.finish();
    },
    fails: { error: DisposedError, api: "core", message: /opencl queue .* was disposed/ },
  },
  "a written map whose context's own queue was disposed": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using program = cl.program("kernel void k(global uchar* o) { o[get_global_id(0)] = 1; }");
      const h = host.allocate({ shape: [64], dtype: "u8" });
      const mapped = graph.map(h, cl);
      using other = cl.createQueue();
      program.kernel("k").run({ items: [64] }, [mapped], { queue: other });
      safe("dispose", () => cl.queue[Symbol.dispose]());
      safe("unmap", () => mapped[Symbol.dispose]());
      safe("dispose", () => h[Symbol.dispose]());
    },
  },
  "what is made in a context that was disposed": {
    opencl: true,
    run() {
      const cl = open();
      cl[Symbol.dispose]();
      for (let i = 0; i < 3; i++) open()[Symbol.dispose]();
      const makes: readonly (() => unknown)[] = [
        () => new OpenCLQueue(cl),
        () => cl.program("kernel void k() {}"),
        () => cl.aliasRule(),
        () => cl.handle,
      ];
      for (const make of makes) fails(String(make), make, DisposedError);
      cl.allocate({ shape: [64], dtype: "u8" });
    },
    fails: { error: DisposedError, api: "core", message: /opencl context .* was disposed/ },
  },
  "a graph that was disposed": {
    run() {
      const graph = new MapperGraph([host]);
      using t = host.allocate({ shape: [64], dtype: "u8" });
      const again = graph.map(t, host);
      graph[Symbol.dispose]();
      fails("view", () => again.view(), DisposedError);
      graph.map(t, host);
    },
    fails: { error: DisposedError, api: "core", message: /the mapper graph was disposed/ },
  },
  "the host, disposed": {
    run() {
      host[Symbol.dispose](); // it never ends
      using t = host.allocate({ shape: [64], dtype: "u8" });
      say(t.view().length);
    },
    says: ["64"],
  },
  "a plane whose frame was forgotten": {
    opencl: true,
    leaves: true,
    async run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      const [a, b, c, d] = [0, 0, 0, 0].map(() => host.allocate({ shape: [64], dtype: "u8" }));
      const stereo = {
        type: "audio",
        format: "u8",
        sampleRate: 8000,
        channels: 2,
        samples: 64,
        layout: "planar",
      } as const;
      const plane = (() => Frame.of([a, b], stereo).planes[0])();
      const view = plane.view();
      const source = Frame.of([c, d], stereo);
      const mapped = (() => graph.map(source, cl).planes[0])();
      await collect();
      view[1] = 9;
      same("view", view[1], 9);
      say(mapped.handle > 0n);
    },
    says: ["true"],
  },
  "a frame's planes, changed": {
    run() {
      using far = host.allocate({ shape: [4096], dtype: "u8" });
      using frame = host.allocateFrame(grey(64, 64));
      try {
        any<typeof far[]>(frame.planes).push(far);
      } catch { /* frozen */ }
      const planes = [host.allocate({ shape: [8, 8], dtype: "u8" })];
      using of = Frame.of(planes, grey(8, 8));
      planes.length = 0;
      say(frame.planes.length, of.planes.length);
    },
    says: ["1 1"],
  },
  "forgotten programs and kernels": {
    opencl: true,
    async run() {
      using cl = open();
      (() => {
        for (let i = 0; i < 5; i++) cl.program("kernel void k() {}").kernel("k").run({ items: [1] }, []);
      })();
      cl.queue.finish();
      await collect();
      await collect();
    },
    // A program that the collector ends first has ended its kernels.
    warns: /opencl (kernel k|program .*) was never disposed; it is now, by the garbage collector/,
  },
  "forgotten tensors": {
    opencl: true,
    async run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      (() => {
        for (let i = 0; i < 5; i++) graph.map(host.allocate({ shape: [64], dtype: "u8" }), cl);
      })();
      await collect();
      await collect();
    },
    warns: /was never disposed; it is now, by the garbage collector/,
  },
  "slices of slices of slices, ten thousand deep": {
    run() {
      const root = host.allocate({ shape: [64], dtype: "u8" });
      let t = root;
      for (let i = 0; i < 10_000; i++) t = t.slice(t.layout);
      t.view();
      root[Symbol.dispose]();
      same("state", root.resource.state, "freed");
    },
  },
});
