/**
 * Two players take turns on the same words, lap after lap, and every word is checked on the device at every turn.
 *
 * @module
 */
import { countBlocking } from "./blocking.ts"; // first: it taps the libraries
import { assert, assertEquals } from "@std/assert";
import { type Fence, MapperGraph, type Tensor } from "@samepage/interop";
import type { Words } from "../../../bench/harness/sharing.ts";
import type { Order } from "../../../bench/operations/order.ts";
import { type Player, wordAt } from "../../../examples/vulkan-opencl-ring/players.ts";

/** Laps that are submitted at once, and counted. In between, the host sees that no more than two such batches are under way. */
const BATCH = 250;

/** Words of the sizes that issue 16 names. */
export const SIZES = { "256 words": 256, "4 MiB": 1 << 20, "4K RGBA": 3840 * 2160 } as const;

/** One size. */
export type Size = keyof typeof SIZES;

/** What came of a ring. */
export interface Ran {
  /** Words that were wrong, summed up over all turns. */
  readonly wrong: number;
  /** The calls within the laps in which the host waited. */
  readonly blocking: ReadonlyMap<string, number>;
  /** Microseconds of a lap, from the first submit to the last end. */
  readonly lap: number;
  /** Microseconds of a lap that its submits took on the host; where queues are full they block. */
  readonly submits: number;
}

/** A fence of the other's queue: samepage chooses how it is waited for. */
export function byFences(players: readonly [Player, Player]): Order {
  return {
    before: (player) => void players[player].context.line.waitFor([players[1 - player].context.line.fence()]),
    after() {},
  };
}

/** Nothing. */
export const UNORDERED: Order = { before() {}, after() {} };

/** By hand: each player has words of its own, which are the same memory, and `order` is all that orders the turns. */
export function byHand(
  players: readonly [Player, Player],
  words: readonly [Tensor, Tensor],
  order: Order,
  source: Words,
  laps: number,
): Promise<Ran> {
  return run(players, source, laps, (turn) => {
    const player = (turn % 2) as 0 | 1;
    order.before(player);
    players[player].turn(words[player], turn);
    order.after(player);
  });
}

/** By maps alone: each turn maps the memory to its player, and leaves it behind its work. */
export function byMaps(
  players: readonly [Player, Player],
  source: Words,
  laps: number,
): Promise<Ran> {
  const graph = new MapperGraph([source.tensor.target.context, ...players.map(({ context }) => context)]);
  return run(players, source, laps, (turn) => {
    const player = players[turn % 2];
    const words = graph.map(source.tensor, player.context);
    player.turn(words, turn);
    words.disposeAfter(player.context.line.fence());
  }, () => graph[Symbol.asyncDispose]());
}

/** Runs the laps, and asks both players and the memory itself what has become of the words. */
async function run(
  players: readonly [Player, Player],
  source: Words,
  laps: number,
  take: (turn: number) => void,
  end = () => Promise.resolve(),
): Promise<Ran> {
  const n = source.tensor.layout.shape[0];
  for (const player of players) player.wrong();
  let turn = 0;
  const lap = () => {
    take(turn++);
    take(turn++);
  };
  lap(); // the first one imports memory and semaphores, and proves that they are shared
  for (const { context } of players) context.line.fence().waitSync();
  const blocking = new Map<string, number>();
  let submits = 0;
  const start = performance.now();
  for (let behind: Fence[] = [], left = laps; left > 0; left -= BATCH) {
    const began = performance.now();
    countBlocking(blocking, () => {
      for (let i = 0; i < Math.min(left, BATCH); i++) lap();
    });
    submits += performance.now() - began;
    for (const fence of behind) await fence.wait();
    behind = players.map(({ context }) => context.line.fence());
  }
  for (const { context } of players) context.line.fence().waitSync();
  const spent = performance.now() - start;
  await end();
  const wrong = players.reduce((sum, player) => sum + player.wrong(), 0);
  if (wrong === 0) {
    const seen = new Uint32Array(n);
    source.read(seen);
    for (let i = 0; i < n; i++) {
      if (seen[i] !== wordAt(turn, i)) assertEquals(seen[i], wordAt(turn, i), `word ${i} in the end`);
    }
  }
  return { wrong, blocking, lap: 1000 * spent / laps, submits: 1000 * submits / laps };
}

/** Prints what came of a ring. */
export function tell(what: string, size: string, laps: number, { wrong, blocking, lap, submits }: Ran): void {
  const waits = Array.from(blocking, ([name, count]) => `${count} × ${name}`).join(", ") || "0";
  console.log(
    `ring: ${what}, ${size}, ${laps} laps: ${lap.toFixed(1)} µs a lap, ${submits.toFixed(1)} µs of submits; ` +
      `${wrong} words wrong; host waits: ${waits}`,
  );
}

/** Every word was right at every turn, and the host has waited for nothing. */
export function assertRight(what: string, { wrong, blocking }: Ran): void {
  assertEquals(wrong, 0, `${what}: words wrong`);
  assertEquals([...blocking], [], `${what}: calls within the laps in which the host waited`);
}

/** Without order the words are wrong; else the check is blind. */
export function assertWrong(what: string, { wrong }: Ran): void {
  assert(wrong > 0, `${what}: no word was wrong, though nothing ordered the turns: the check sees nothing`);
}
