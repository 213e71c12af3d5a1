/** Images of several APIs in chains: slices whose rows lie apart, planes in several blocks, promises, work that comes late. */
import { assert, assertEquals } from "@std/assert";
import { layerEnv, type LayerMode } from "../layer/mod.ts";
import { test } from "../opencl/help.ts";
import { testLayered } from "../opencl/layered.ts";
import { linesOf } from "../opencl/subprocess.ts";
import type { Counts } from "./image_chains.ts";
import { chainsHere, EDGES_HERE } from "./image_world.ts";

/** Chains of a test: so many that each fault that was planted was found. */
const CHAINS = 60;

/** How the VA-API driver of the tests shows its surfaces, and by which step they reach the host then. */
const DRIVERS = [
  [["in place"], "alias"],
  [["private"], "migrate"],
  [["plain"], "copy"],
  [["separate"], "alias"],
  [["offset", "separate"], "alias"],
] as const;

function assertCovered({ edges, lends }: Counts, ...steps: readonly string[]): void {
  const missing = [...EDGES_HERE, ...steps].filter((edge) => !edges.some(([taken]) => taken === edge));
  assertEquals(missing, [], "edges that no chain took");
  assert(lends > CHAINS / 4, `${lends} lends`);
}

for (const [i, [words, transfer]] of DRIVERS.entries()) {
  test(`images in chains keep every pixel: surfaces ${words.join(" and ")}`, ["pocl"], async () => {
    const counts = await chainsHere(words, CHAINS, 1 + 1000 * i);
    assertCovered(counts, ...EDGES_HERE.includes("vaapi→host") ? [`vaapi→host ${transfer}`] : []);
  });
}

const MODES: readonly LayerMode[] = ["map", "enqueue"];

for (const [i, mode] of MODES.entries()) {
  testLayered(
    `images in chains keep every pixel on a device with memory of its own, disguised by ${mode}`,
    async () => {
      const module = new URL("image_world.ts", import.meta.url);
      const [line] = await linesOf(
        `const { chainsHere } = await import("${module}");
       console.log(JSON.stringify(await chainsHere([], ${CHAINS}, ${6001 + 1000 * i})));`,
        { env: layerEnv(mode) },
      );
      assertCovered(JSON.parse(line), "host→opencl.image migrate", "opencl.image→host migrate");
    },
  );
}
