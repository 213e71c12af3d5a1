import { DisposedError, Frame, host, MapperGraph, region } from "@samepage/interop";
import { OpenCLQueue, OpenCLUserEvent } from "@samepage/interop/opencl";
import { busy } from "../busy.ts";
import { any, collected, fails, grey, open, safe, safely, same, say } from "../kit.ts";
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
  add.run([8192], [mapped, 1], { queue });
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
    run() {
      const mine = new Error("the program's own");
      using cl = open();
      const { source, mapped, add } = busy(cl);
      using _source = source;
      try {
        using _mapped = mapped;
        using event = cl.userEvent();
        add.run([8192], [mapped, 1], { after: event.fence });
        event.fail();
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
      program.kernel("k").run([64], [mapped], { queue: other });
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
        () => new OpenCLUserEvent(cl),
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
  "a plane whose frame nobody has any more": {
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
      await collected();
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
  "programs and kernels that nobody has any more": {
    opencl: true,
    async run() {
      using cl = open();
      (() => {
        for (let i = 0; i < 5; i++) cl.program("kernel void k() {}").kernel("k").run([1], []);
      })();
      cl.queue.finish();
      await collected();
      await collected();
    },
    warns: /opencl kernel k was never disposed; it is now, by the garbage collector/,
  },
  "tensors that nobody has any more": {
    opencl: true,
    async run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      (() => {
        for (let i = 0; i < 5; i++) graph.map(host.allocate({ shape: [64], dtype: "u8" }), cl);
      })();
      await collected();
      await collected();
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
  "any order of slices, maps, kernels, events, lends and disposes": {
    opencl: true,
    limit: 60,
    warns: /^/,
    async run() {
      await wander();
    },
  },
});

/** A walk at random, the same each time. */
async function wander(): Promise<void> {
  const cl = open();
  let seed = 1;
  const random = (n: number) => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return (seed >> 8) % n;
  };
  const pick = <T>(list: readonly T[]): T => list[random(list.length)];
  const program = cl.program("kernel void k(global uchar* o, uchar n) { o[get_global_id(0)] += n; }");
  const k = program.kernel("k");
  const second = cl.createQueue();
  const queues = [cl.queue, second];
  type Tensor = ReturnType<typeof host.allocate> | ReturnType<typeof cl.allocate>;
  interface State {
    readonly graph: MapperGraph;
    readonly live: Tensor[];
    readonly events: OpenCLUserEvent[];
    readonly later: Promise<unknown>[];
  }
  const accesses = ["read", "write", "read-write"] as const;
  const moves: readonly ((t: Tensor, s: State) => void | Promise<void>)[] = [
    (t, s) => void s.live.push(s.graph.map(t, any(pick([host, cl])), { access: pick(accesses) })),
    (t, s) => {
      const [length] = t.layout.shape;
      const from = random(length);
      const part = region(t.layout, [from], [1 + random(length - from)]);
      s.live.push(t.slice(any(part), { access: pick(["read", "read-write"]) }));
    },
    (t, s) => {
      if (!cl.is(t)) return;
      const after = s.events.length > 0 && random(2) === 1 ? { after: pick(s.events).fence } : {};
      k.run([t.layout.shape[0]], [t, 1], { queue: pick(queues), ...after });
    },
    (t) => {
      if (random(3) === 0) t[Symbol.dispose]();
    },
    (t) => {
      if (host.is(t)) t.bytes().fill(1);
    },
    (_, s) => {
      if (random(3) === 0) s.events.push(cl.userEvent());
    },
    (_, s) => {
      if (s.events.length > 0) random(3) > 0 ? pick(s.events).complete() : pick(s.events).fail();
    },
    (t) => {
      if (random(3) !== 0) return;
      using fence = pick(queues).fence();
      t.disposeAfter(fence);
    },
    (t, s) => {
      if (random(3) === 0) s.later.push(safely("later", t[Symbol.asyncDispose]()));
    },
    (t, s) => {
      if (!host.is(t)) return;
      const turns = random(3);
      s.later.push(safely(
        "lend",
        t.lend(async (view) => {
          for (let i = 0; i < turns; i++) await Promise.resolve();
          (view as Uint8Array).fill(2);
        }),
      ));
    },
    (t) => {
      using fence = pick(queues).fence();
      t.usedBy(fence);
    },
    async () => {
      await new Promise((resolve) => setTimeout(resolve, 0));
      if (random(4) === 0) (globalThis as unknown as { gc(): void }).gc();
    },
  ];
  for (let round = 0; round < 120; round++) {
    const first: Tensor = pick([host, cl] as const).allocate({ shape: [4096], dtype: "u8" });
    const s: State = { graph: new MapperGraph([host, cl]), live: [first], events: [], later: [] };
    for (let step = 0; step < 25; step++) {
      const move = pick(moves);
      await safely(String(move), (async () => await move(pick(s.live), s))());
    }
    for (const event of s.events) safe("event", () => event[Symbol.dispose]());
    await safely("graph", s.graph[Symbol.asyncDispose]());
    for (const t of s.live.reverse()) await safely("tensor", t[Symbol.asyncDispose]());
    await Promise.all(s.later);
  }
  safe("queue", () => second[Symbol.dispose]()); // throws what its last command failed with
  safe("context", () => cl[Symbol.dispose]());
}
