import { assert, assertEquals } from "@std/assert";
import { host, ledger, region } from "@samepage/interop";
import { assertBytes, bench, collect, filled, open, randomTensor, testEach } from "./help.ts";
import { assertOpenFds, openFds } from "../gc.ts";

const MAPS = 100_000;

/** Maps before the first look at memory: pools and caches have their size by then. */
const WARM_UP = 5_000;

/** More growth than this over all maps is not noise (one step of 8 MB is): it would be 160 bytes a map. */
const MAX_GROWTH = 16_000_000;

function resident(): number {
  return Deno.memoryUsage().rss;
}

function assertFlat(before: { rss: number; fds: number; alive: unknown }): void {
  assertOpenFds(before.fds);
  assertEquals(ledger.alive, before.alive);
  const growth = resident() - before.rss;
  assert(growth < MAX_GROWTH, `${MAPS} maps have left ${growth} bytes`);
}

testEach("100,000 maps in one synchronous loop leave nothing", async (platform) => {
  using b = bench(platform);
  const { tensor } = randomTensor(4096);
  using source = tensor;
  const turn = (i: number) => {
    using mapped = b.graph.map(source, b.cl, { access: i % 2 === 0 ? "read" : "read-write" });
    if (mapped.layout.byteLength !== 4096) throw new Error("not a map");
  };
  for (let i = 0; i < WARM_UP; i++) turn(i);
  await collect();
  const before = { rss: resident(), fds: openFds(), alive: ledger.alive };
  for (let i = 0; i < MAPS; i++) turn(i);
  assertFlat(before);
});

testEach("100,000 maps in an asynchronous loop leave nothing; every 100th runs a kernel", async (platform) => {
  using b = bench(platform);
  const { tensor } = randomTensor(4096);
  using source = tensor;
  const turn = async (i: number) => {
    await using mapped = b.graph.map(source, b.cl);
    if (i % 100 === 0) b.kernels.fill.run({ items: [4096] }, [mapped, i & 255]);
  };
  for (let i = 0; i < WARM_UP; i++) await turn(i);
  await collect();
  const before = { rss: resident(), fds: openFds(), alive: ledger.alive };
  for (let i = 0; i < MAPS; i++) await turn(i);
  await collect();
  assertFlat(before);
  assertBytes(source.view(), filled(4096, (MAPS - 100) & 255));
});

testEach("5,000 kernels submitted without a wait leave nothing", async (platform) => {
  using b = bench(platform);
  using own = b.cl.allocate({ shape: [64], dtype: "u8" });
  b.cl.queue.write(own, new Uint8Array(64));
  const fds = openFds();
  for (let i = 0; i < 5_000; i++) b.kernels.add.run({ items: [64] }, [own, 1]);
  const fence = b.cl.queue.fence();
  await fence.wait();
  b.cl.queue.finish();
  const got = new Uint8Array(64);
  b.cl.queue.read(own, got);
  assertBytes(got, new Uint8Array(64).fill(5_000 & 255));
  b.cl.queue.finish();
  assertOpenFds(fds);
});

testEach("300 contexts leave nothing", async (platform) => {
  const turn = () => {
    using cl = open(platform);
    using _ = cl.createQueue();
  };
  for (let i = 0; i < 50; i++) turn();
  await collect();
  const before = { rss: resident(), fds: openFds(), alive: ledger.alive };
  for (let i = 0; i < 300; i++) turn();
  await collect();
  assertOpenFds(before.fds);
  assertEquals(ledger.alive, before.alive);
});

testEach("a map of one slice costs the same beside 20,000 other slices that are mapped", (platform) => {
  using b = bench(platform);
  const most = 20_000;
  using whole = host.allocate({ shape: [128 * (most + 1)], dtype: "u8" });
  const tile = (i: number) => whole.slice(region(whole.layout, [128 * i], [64]));
  using one = tile(most);
  /** The quickest of several turns: other work on the machine makes some slow. */
  const quickest = () => {
    let least = Infinity;
    for (let turn = 0; turn < 12; turn++) {
      const begin = performance.now();
      for (let i = 0; i < 200; i++) b.graph.map(one, b.cl)[Symbol.dispose]();
      least = Math.min(least, performance.now() - begin);
    }
    return least;
  };
  quickest();
  const alone = quickest();
  const tiles = Array.from({ length: most }, (_, i) => tile(i));
  for (const part of tiles) b.graph.map(part, b.cl);
  const beside = quickest();
  for (const part of tiles) part[Symbol.dispose](); // their maps end before them
  // A scan of 20,000 takes more than 20 times as long. Noise makes 2 of what is 1.
  assert(beside < 5 * alone, `${alone} ms alone, ${beside} ms beside the others`);
});
