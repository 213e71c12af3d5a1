// What a lap between two GPUs consists of: native calls by name, and time by function. Temporary.
import { setTap } from "../src/core/native/library.ts";
import { Session } from "node:inspector/promises";

const counts = new Map<string, [number, number]>();
let counting = false;
if (Deno.args.includes("count")) {
  // deno-lint-ignore no-explicit-any
  setTap((_api, functions) =>
    Object.fromEntries(
      Object.entries(functions).map(([name, real]) => [
        name,
        typeof real !== "function" ? real : (...args: any[]) => {
          if (!counting) return (real as any)(...args);
          const start = performance.now();
          const result = (real as any)(...args);
          const spent = performance.now() - start;
          const one = counts.get(name) ?? [0, 0];
          counts.set(name, [one[0] + 1, one[1] + spent]);
          return result;
        },
      ]),
    )
  );
}
const { gpus } = (await import("./harness/gpus.ts")).sharedGpus();
const { onTwoGpus, forGood } = await import("./harness/sharing.ts");
const { bySemaphores } = await import("./operations/order.ts");
const { MapperGraph } = await import("@samepage/interop");

const { VulkanContext } = await import("@samepage/interop/vulkan");
const { vulkanPlayer } = await import("../examples/vulkan-opencl-ring/players.ts");
const { importedApart } = await import("./operations/apart.ts");
function local() {
  const vulkan = VulkanContext.open();
  const players = [0, 1].map(() => vulkanPlayer(VulkanContext.open()));
  return {
    vulkan,
    players,
    words: (n: number, made: DisposableStack) => ({ tensor: made.use(vulkan.allocate({ shape: [n], dtype: "u32" })) }),
    apart: ({ tensor }: any, made: DisposableStack) =>
      players.map(({ context }) => made.use(importedApart(tensor, context as any)).tensor),
  } as any;
}
const on = gpus.length < 2 ? local() : onTwoGpus(gpus);
const { players } = on;
const made = forGood();
const apart = on.apart(on.words(256, made), made);
const order = gpus.length < 2 ? { before() {}, after() {} } : bySemaphores(on.vulkan, players);
let handTurn = 0;
function hand(laps: number) {
  for (let i = 0; i < 2 * laps; i++) {
    const p = (i % 2) as 0 | 1;
    order.before(p);
    players[p].turn(apart[p], handTurn++);
    order.after(p);
  }
}
const { tensor } = on.words(256, made);
const graph = new MapperGraph([tensor.target.context, ...players.map(({ context }) => context)]);
let mapTurn = 0;
function maps(laps: number) {
  for (let i = 0; i < 2 * laps; i++) {
    const player = players[mapTurn % 2];
    const words = graph.map(tensor, player.context);
    player.turn(words, mapTurn++);
    words.disposeAfter(player.context.line.fence());
  }
}
async function ended() {
  await graph.map(tensor, players[mapTurn % 2].context)[Symbol.asyncDispose]();
  for (const { context } of players) context.line.fence().waitSync();
}
const BATCH = 100;
for (const [name, laps] of [["by hand", hand], ["by maps", maps]] as const) {
  for (let i = 0; i < 50; i++) {
    laps(BATCH);
    await ended();
  }
  counting = true;
  counts.clear();
  const session = new Session();
  if (!Deno.args.includes("count")) {
    session.connect();
    await session.post("Profiler.enable");
    await session.post("Profiler.setSamplingInterval", { interval: 50 });
    await session.post("Profiler.start");
  }
  let spent = 0;
  const ROUNDS = 60;
  for (let i = 0; i < ROUNDS; i++) {
    counting = true;
    const start = performance.now();
    laps(BATCH);
    spent += performance.now() - start;
    counting = false;
    await ended();
  }
  console.log(`lap: ${name}: ${(1000 * spent / ROUNDS / BATCH).toFixed(1)} µs of submits`);
  for (const [fn, [count, ms]] of counts) {
    console.log(
      `lap:   ${fn}: ${(count / ROUNDS / BATCH).toFixed(2)} × ${(1000 * ms / count).toFixed(2)} µs`,
    );
  }
  if (!Deno.args.includes("count")) {
    // deno-lint-ignore no-explicit-any
    const { profile } = await session.post("Profiler.stop") as any;
    session.disconnect();
    const self = new Map<string, number>();
    // deno-lint-ignore no-explicit-any
    const nodes = new Map<number, any>(profile.nodes.map((n: any) => [n.id, n]));
    profile.samples.forEach((id: number, i: number) => {
      const { functionName, url, lineNumber } = nodes.get(id).callFrame;
      const key = `${functionName} ${url.split("/").slice(-2).join("/")}:${lineNumber + 1}`;
      self.set(key, (self.get(key) ?? 0) + profile.timeDeltas[i]);
    });
    for (const [key, us] of [...self].sort((a, b) => b[1] - a[1]).slice(0, 45)) {
      console.log(`lap:   ${(us / ROUNDS / BATCH).toFixed(2)} µs ${key}`);
    }
  }
}
Deno.exit(0);
