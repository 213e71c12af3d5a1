/** Two Vulkan contexts take turns on one memory, on whatever device is here: what ring_gpu_test.ts does, without a GPU. */
import { byFences, byHand, byMaps, tell, type Words } from "./ring/ring.ts"; // first: it taps the libraries
import { assertEquals } from "@std/assert";
import { MapperGraph } from "@samepage/interop";
import { VulkanContext } from "@samepage/interop/vulkan";
import { vulkanPlayer } from "../../examples/vulkan-opencl-ring/players.ts";
import { importedApart } from "../../bench/operations/apart.ts";

const LAPS = 40;

function open() {
  using made = new DisposableStack();
  const exporter = made.use(VulkanContext.open());
  const contexts = [made.use(VulkanContext.open()), made.use(VulkanContext.open())];
  const players = contexts.map((context) => made.use(vulkanPlayer(context)));
  const tensor = made.use(exporter.allocate({ shape: [1024], dtype: "u32" }));
  const words: Words = {
    tensor,
    read: (into) => exporter.queue.read(tensor, into),
  };
  const kept = made.move();
  return {
    exporter,
    contexts,
    players: [players[0], players[1]] as const,
    words,
    [Symbol.dispose]: () => kept.dispose(),
  };
}

Deno.test("ring: two Vulkan contexts, by hand", async () => {
  using made = open();
  const { players, words } = made;
  using one = importedApart(words.tensor, players[0].context);
  using other = importedApart(words.tensor, players[1].context);
  const ran = await byHand(players, [one.tensor, other.tensor], byFences(players), words, LAPS);
  tell("by fences", "1024", LAPS, ran);
  assertEquals(ran.wrong, 0);
});
Deno.test("ring: two Vulkan contexts, by maps", async () => {
  using made = open();
  const { players, words, exporter, contexts } = made;
  const graph = new MapperGraph([exporter, ...contexts]);
  const ran = await byMaps(players, graph, words, LAPS);
  tell("by maps", "1024", LAPS, ran);
  assertEquals(ran.wrong, 0);
});
