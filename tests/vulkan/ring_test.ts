/** Two Vulkan contexts take turns on one memory, on whatever device is here: what ring_gpu_test.ts does, without a GPU. */
import { byFences, byHand, byMaps, type Ran, tell } from "./ring/ring.ts"; // first: it taps the libraries
import { assertEquals } from "@std/assert";
import { VulkanContext } from "@samepage/interop/vulkan";
import { importedApart } from "../../bench/operations/apart.ts";
import type { Words } from "../../bench/harness/sharing.ts";
import { type Player, vulkanPlayer } from "../../examples/vulkan-opencl-ring/players.ts";
import { test } from "./help.ts";

const LAPS = 40;
const WORDS = 1024;

type Ring = (players: readonly [Player, Player], words: Words) => Promise<Ran>;

function ringTest(what: string, run: Ring): void {
  test(`two contexts take turns on a third's memory, ${what}`, async (exporter) => {
    using made = new DisposableStack();
    const open = () => made.use(vulkanPlayer(made.use(VulkanContext.open())));
    const tensor = made.use(exporter.allocate({ shape: [WORDS], dtype: "u32" }));
    const words: Words = { tensor, read: (into) => exporter.queue.read(tensor, into) };
    const ran = await run([open(), open()], words);
    tell(what, `${WORDS} words`, LAPS, ran);
    assertEquals(ran.wrong, 0, "words wrong");
  });
}

ringTest("by hand", async (players, words) => {
  using one = importedApart(words.tensor, players[0].context);
  using other = importedApart(words.tensor, players[1].context);
  return await byHand(players, [one.tensor, other.tensor], byFences(players), words, LAPS);
});

ringTest("by maps", (players, words) => byMaps(players, words, LAPS));
