import { host, MapperGraph, region } from "@samepage/interop";
import { any, open, type Opening, opening, randomOf, safe, safely } from "../kit.ts";
import { table } from "../row.ts";

export default table(import.meta, {
  "any order of slices, maps, kernels, events, lends and disposes": {
    opencl: true,
    warns: /^/,
    async run() {
      await wander(Number(Deno.args[2] ?? 1), Number(Deno.args[3] ?? 120));
    },
  },
});

/** A walk at random, the same each time. */
async function wander(seed: number, rounds: number): Promise<void> {
  const cl = open();
  const random = randomOf(seed);
  const pick = <T>(list: readonly T[]): T => list[random(list.length)];
  const program = cl.program("kernel void k(global uchar* o, uchar n) { o[get_global_id(0)] += n; }");
  const k = program.kernel("k");
  const second = cl.createQueue();
  const queues = [cl.queue, second];
  type Tensor = ReturnType<typeof host.allocate> | ReturnType<typeof cl.allocate>;
  interface State {
    readonly graph: MapperGraph;
    readonly live: Tensor[];
    readonly events: Opening[];
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
      k.run({ items: [t.layout.shape[0]] }, [t, 1], { queue: pick(queues), ...after });
    },
    (t) => {
      if (random(3) === 0) t[Symbol.dispose]();
    },
    (t) => {
      if (host.is(t)) t.bytes().fill(1);
    },
    (_, s) => {
      if (random(3) === 0) s.events.push(opening());
    },
    async (_, s) => {
      if (s.events.length > 0) await (random(3) > 0 ? pick(s.events).complete() : pick(s.events).fail());
    },
    (t) => {
      if (random(3) !== 0) return;
      t.disposeAfter(pick(queues).fence());
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
    (t) => t.usedBy(pick(queues).fence()),
    async () => {
      await new Promise((resolve) => setTimeout(resolve, 0));
      if (random(4) === 0) (globalThis as unknown as { gc(): void }).gc();
    },
  ];
  for (let round = 0; round < rounds; round++) {
    const first: Tensor = pick([host, cl] as const).allocate({ shape: [4096], dtype: "u8" });
    const s: State = { graph: new MapperGraph([host, cl]), live: [first], events: [], later: [] };
    for (let step = 0; step < 25; step++) {
      const move = pick(moves);
      await safely(String(move), (async () => await move(pick(s.live), s))());
    }
    for (const event of s.events) event[Symbol.dispose]();
    await safely("graph", s.graph[Symbol.asyncDispose]());
    for (const t of s.live.reverse()) await safely("tensor", t[Symbol.asyncDispose]());
    await Promise.all(s.later);
  }
  safe("queue", () => second[Symbol.dispose]()); // throws what its last command failed with
  safe("context", () => cl[Symbol.dispose]());
}
