/** Malformed files: none may end the process, or cause an untyped error. */
import { assert, assertEquals } from "@std/assert";
import { missing } from "./clips.ts";
import { attack } from "./hostile/attack.ts";

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
