// OpenCL and CUDA take turns on one memory, ordered by Vulkan's semaphores: on one GPU, where a lap is its switch from one
// context to the other and back, and on two; and what the calls of a lap cost.

import { MapperGraph } from "@samepage/interop";
import type { Player } from "../examples/vulkan-opencl-ring/players.ts";
import { externalC } from "./harness/c.ts";
import { type Figure, figure } from "./harness/figure.ts";
import { atMost, faster, type Goal } from "./harness/goal.ts";
import { PIXELS } from "./harness/frame.ts";
import { forGood, type GpuCount, shared, type Sharing } from "./harness/sharing.ts";
import type { Operation } from "./harness/operation.ts";
import { here, type Way } from "./harness/way.ts";
import { bareLaps } from "./operations/bare_laps.ts";
import { bySemaphores } from "./operations/order.ts";

/** The sizes, as C's operations name them. */
const SIZES = {
  words: { id: "256", title: "256 words", n: 256 },
  mib: { id: "4mib", title: "4 MiB", n: 1 << 20 },
  frame: { id: "4k", title: "a 4K frame", n: PIXELS },
} as const;

type Size = keyof typeof SIZES;

/** Laps that are submitted without a look at what has become of them: queues are not full then. */
const MOST = 100;

function finish({ players }: Sharing): void {
  for (const { context } of players) context.line.fence().waitSync();
}

/** Every word was right at every turn. */
function assertRight(players: readonly Player[]): void {
  for (const player of players) {
    const wrong = player.wrong();
    if (wrong > 0) throw new Error(`${player.name} found ${wrong} words wrong`);
  }
}

/** Laps by two semaphores; each player has the memory as if it were its own. */
function handLaps(gpus: GpuCount, size: Size): { readonly on: Sharing; submit(count: number): void } {
  const on = shared(gpus);
  const { players: [one, other], vulkan } = on;
  const made = forGood();
  const [mine, its] = on.apart(on.words(SIZES[size].n, made), made);
  const order = bySemaphores(vulkan, on.players);
  let turn = 0;
  return {
    on,
    submit(count) {
      for (let i = 0; i < count; i++) {
        order.before(0);
        one.turn(mine, turn++);
        order.after(0);
        order.before(1);
        other.turn(its, turn++);
        order.after(1);
      }
    },
  };
}

/** Laps by maps alone. */
function mapLaps(
  gpus: GpuCount,
  size: Size,
): { readonly on: Sharing; submit(count: number): void; ended(): Promise<void> } {
  const on = shared(gpus);
  const { players } = on;
  const { tensor } = on.words(SIZES[size].n, forGood());
  const graph = new MapperGraph([tensor.target.context, ...players.map(({ context }) => context)]);
  let turn = 0;
  return {
    on,
    submit(count) {
      for (let i = 0; i < 2 * count; i++) {
        const player = players[turn % 2];
        const words = graph.map(tensor, player.context);
        player.turn(words, turn++);
        words.disposeAfter(player.context.line.fence());
      }
    },
    /** The last map waits for all before it. */
    ended: () => graph.map(tensor, players[turn % 2].context)[Symbol.asyncDispose](),
  };
}

function lapsByHand(gpus: GpuCount, size: Size): () => Operation {
  return () => {
    const { on, submit } = handLaps(gpus, size);
    const settle = () => assertRight(on.players);
    submit(4);
    settle();
    return {
      run(count) {
        submit(count);
        finish(on);
      },
      settle,
    };
  };
}

function lapsByMaps(gpus: GpuCount, size: Size): () => Operation {
  return () => {
    const { on, submit, ended } = mapLaps(gpus, size);
    submit(4);
    const settle = () => assertRight(on.players);
    settle();
    return {
      async run(count) {
        for (let left = count; left > 0; left -= MOST) {
          submit(Math.min(left, MOST));
          await ended();
        }
      },
      settle,
    };
  };
}

/** The calls alone: their ends are outside of the clock. */
function callsByHand(gpus: GpuCount): () => Operation {
  return () => {
    const { on, submit } = handLaps(gpus, "words");
    submit(4);
    return { run: submit, settle: () => assertRight(on.players), most: MOST };
  };
}

/** The same by C's native calls, with nothing of samepage's around them. */
function callsAlone(gpus: GpuCount): () => Operation {
  return () => {
    const { submit, wrong } = bareLaps(shared(gpus));
    return {
      run: submit,
      settle() {
        const count = wrong();
        if (count > 0) throw new Error(`${count} words were wrong`);
      },
      most: MOST,
    };
  };
}

/** The same, by maps. */
function callsByMaps(gpus: GpuCount): () => Operation {
  return () => {
    const { on, submit, ended } = mapLaps(gpus, "words");
    submit(4);
    let spent = 0;
    return {
      async run(count) {
        const start = performance.now();
        submit(count);
        spent = 1e6 * (performance.now() - start);
        await ended();
      },
      spent: () => spent,
      settle: () => assertRight(on.players),
      most: MOST,
    };
  };
}

/** Declares a figure on GPUs that Vulkan, OpenCL and CUDA share. */
function ring(id: string, title: string, ways: readonly Way[], goal?: Goal): void {
  const figureOf: Figure = { id: `external-${id}`, title, on: "vulkan", ways, ...(goal === undefined ? {} : { goal }) };
  figure(figureOf);
}

for (const [gpus, id, where] of [[1, "calls", "one GPU"], [2, "two-calls", "two GPUs"]] as const) {
  ring(id, `the calls of a lap, ${where}`, [
    externalC(gpus, "calls"),
    here("samepage", callsByHand(gpus)),
    here("samepage, by maps", callsByMaps(gpus)),
    here("Deno, the calls alone", callsAlone(gpus)),
    externalC(gpus, "calls_with_events", "C, an event of each kernel"),
  ], atMost(1.2));
}

for (const [name, goal] of [["words", undefined], ["mib", faster(1.8)], ["frame", faster(8)]] as const) {
  const { id, title } = SIZES[name];
  ring(`one-${id}`, `a lap on one GPU, ${title}`, [
    externalC(1, `copy_${name}`, "C, pinned copies"),
    here("samepage", lapsByHand(1, name)),
    here("samepage, by maps", lapsByMaps(1, name)),
    externalC(1, `lap_${name}`),
  ], goal);
}

for (const [name, goal] of [["words", undefined], ["mib", faster(10)], ["frame", faster(16)]] as const) {
  const { id, title } = SIZES[name];
  const samepage = here("samepage", lapsByHand(2, name));
  ring(`two-${id}`, `a lap on two GPUs, ${title}`, [
    externalC(2, `lap_${name}`),
    samepage,
    here("samepage, by maps", lapsByMaps(2, name)),
  ], atMost(1.2));
  ring(`two-${id}-copies`, `the same against copies`, [
    externalC(2, `copy_${name}`, "C, pinned copies"),
    samepage,
  ], goal);
}
