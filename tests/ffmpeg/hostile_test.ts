/** Malformed files, and a machine without memory: neither may end the process, or cause an untyped error. */
import { assert, assertEquals } from "@std/assert";
import { missing } from "./clips.ts";
import { buildFrames, buildNoMemory } from "./frames.ts";
import { attack } from "./hostile/attack.ts";
import { OPERATIONS, without } from "./hostile/no_memory.ts";

Deno.test({
  name: `decode: 300 damaged files end with frames or typed errors${missing ? ` (not here: ${missing})` : ""}`,
  ignore: missing !== undefined,
  async fn() {
    const { outcomes, crashes } = await attack(60);
    assertEquals(crashes, []);
    assertEquals(outcomes.values().reduce((sum, times) => sum + times, 0), 300);
    const kinds = new Set(outcomes.keys().map((outcome) => outcome.replace(/^.*: /, "")));
    assert(kinds.has("frames") && kinds.size >= 4, `what came: ${[...kinds].join(", ")}`);
  },
});

const lacking = missing ?? await buildFrames() ?? await buildNoMemory();

for (const name of OPERATIONS) {
  Deno.test({
    name: `${name}: allocations that fail inside FFmpeg are typed errors, and leave nothing${
      lacking === undefined ? "" : ` (not here: ${lacking})`
    }`,
    ignore: lacking !== undefined,
    async fn() {
      const { outcomes, theirs, ours } = await without(name, 40);
      for (const crash of theirs) console.log(`inside FFmpeg: ${crash}`);
      assertEquals(ours, []);
      assert((outcomes.get("NativeCallError") ?? 0) > 5, `what came: ${[...outcomes.keys()].join(", ")}`);
    },
  });
}
