import { host, MapperGraph, region, type Tensor } from "@samepage/interop";
import { OpenCVContext, OpenCVMat, OpenCVTensor, OpenCVUMat, ReallocatedError } from "@samepage/interop/opencv";
import { any, open, type Opening, opening, randomOf, safe, safely } from "../kit.ts";
import { table } from "../row.ts";

export default table(import.meta, {
  "any order of maps, slices, operations, results, attaches, events and disposes": {
    opencl: true,
    warns: /^/,
    run: () => wander(Number(Deno.args[2] ?? 1), Number(Deno.args[3] ?? 60)),
  },
});

/** A walk at random, the same each time. */
async function wander(seed: number, rounds: number): Promise<void> {
  const random = randomOf(seed);
  const pick = <T>(list: readonly T[]): T => list[random(list.length)];
  for (let round = 0; round < rounds; round++) {
    const cl = open();
    const cv = OpenCVContext.open();
    const graph = new MapperGraph([host, cl, cv]);
    const shape = pick([[32, 32], [16, 16, 4], [1024], [4, 4, 8, 8]]);
    const at = { shape, dtype: "u8" } as const;
    const live: Tensor[] = [pick([() => cl.allocate(at), () => cv.mat.create(at)])(), host.allocate(at)];
    const events: Opening[] = [];
    const later: Promise<unknown>[] = [];
    const seen = async (what: string, promise: Promise<unknown>) => {
      await safely(what, promise.catch(taken));
    };
    const taken = (error: unknown) => {
      if (error instanceof ReallocatedError && error.result !== undefined) live.push(error.result);
      throw error;
    };
    const moves: readonly (() => unknown)[] = [
      () =>
        live.push(
          graph.map(pick(live), any(pick([host, cl, cv.mat, cv.umat])), {
            access: pick(["read", "write", "read-write"]),
          }),
        ),
      () => live.push(graph.map(pick(live), any(pick([cv.mat, cv.umat, cv.matOf({ channels: 4 })])))),
      () => {
        const t = pick(live);
        const from = t.layout.shape.map((extent) => random(extent));
        const part = region(t.layout, from, t.layout.shape.map((extent, i) => 1 + random(extent - from[i])));
        live.push(t.slice(any(part), { access: pick(["read", "read-write"]) }));
      },
      () => {
        const [src, dst] = [pick(live), pick(live)].map((t) => any<OpenCVTensor>(t));
        const options = { reallocate: random(2) === 0 };
        pick([
          () => cv.bitwise_not(src, dst, options),
          () => cv.copyTo(src, dst, options),
          () => cv.convertTo(src, dst, pick(["u8", "f32", "i16"]), options),
          () => cv.GaussianBlur(src, dst, [3, 3], options),
          () => cv.resize(src, dst, [1 + random(64), 1 + random(64)], options),
          () => cv.imencode(".webp", src),
          () => cv.imencode(".png", src),
        ])();
      },
      () => {
        const t = pick(live.filter((t) => t instanceof OpenCVTensor));
        if (t instanceof OpenCVMat) live.push(cv.mat.attach(t.handle));
        if (t instanceof OpenCVUMat) live.push(cv.umat.attach(t.handle));
      },
      () => random(2) === 0 && pick(live)[Symbol.dispose](),
      () => random(2) === 0 && pick(live)[Symbol.dispose](),
      () => void later.push(seen("later", pick(live)[Symbol.asyncDispose]())),
      () => random(3) === 0 && events.push(opening()),
      () => events.length > 0 && pick(live).usedBy(pick(events).fence),
      () => events.length > 0 && (random(3) > 0 ? pick(events).complete() : pick(events).fail()),
      () => {
        pick(live).disposeAfter(cl.queue.fence());
      },
      () => random(4) === 0 && live.splice(random(live.length), 1), // forgotten
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 0));
        if (random(4) === 0) (globalThis as unknown as { gc(): void }).gc();
      },
      () => random(12) === 0 && pick([cv, cl, graph] as Disposable[])[Symbol.dispose](),
    ];
    for (let step = 0; step < 40; step++) {
      const move = pick(moves);
      if (live.length > 0) await seen(String(move), (async () => void await move())());
    }
    for (const event of events) safe("event", () => event[Symbol.dispose]());
    for (const end of [graph, ...live.reverse()]) await seen("end", end[Symbol.asyncDispose]());
    await Promise.all(later);
    for (const t of live) await seen("result", t[Symbol.asyncDispose]());
    for (const end of [cv, cl]) safe("context", () => end[Symbol.dispose]());
  }
  for (let i = 0; i < 4; i++) {
    (globalThis as unknown as { gc(): void }).gc();
    await new Promise((resolve) => setTimeout(resolve, 20)); // what was forgotten ends
  }
}
