/** What sharing costs beside C in the same boot: printed, and not judged, for a guest has bad moments. */
import { assert } from "@std/assert";
import { MapperGraph } from "../../../mod.ts";
import { VaapiContext } from "../../../src/vaapi/mod.ts";
import { picture } from "../../vaapi/pixels.ts";
import { guestTest } from "../needs.ts";

const NODE = "/dev/dri/renderD128";
const ROUNDS = 50;

/** Nanoseconds of the best of some laps. */
function best(laps: number, rounds: number, run: () => void): number {
  let least = Infinity;
  for (let lap = 0; lap < laps; lap++) {
    const from = performance.now();
    for (let i = 0; i < rounds; i++) run();
    least = Math.min(least, (performance.now() - from) * 1e6 / rounds);
  }
  return least;
}

guestTest("vaapi: what an export, an import and their end cost, beside C", async () => {
  const folder = await Deno.makeTempDir();
  const source = new URL("share.c", import.meta.url).pathname;
  const args = ["-O2", "-o", `${folder}/share`, source, "-lva", "-lva-drm"];
  const built = await new Deno.Command("cc", { args }).output();
  assert(built.success, new TextDecoder().decode(built.stderr));
  const { success, stdout } = await new Deno.Command(`${folder}/share`, { args: [NODE, `${ROUNDS}`] }).output();
  assert(success, "the C program failed");
  const inC = Number(new TextDecoder().decode(stdout));
  using va = VaapiContext.open({ node: NODE });
  using other = VaapiContext.open({ node: NODE });
  using graph = new MapperGraph([va, other]);
  using surface = va.allocateFrame(picture("NV12", 1920, 1080));
  const least = best(10, ROUNDS, () => graph.map(surface, other, { access: "read" })[Symbol.dispose]());
  console.log(`a share: ${least.toFixed(0)} ns, in C ${inC} ns: ${(least / inC).toFixed(2)} times`);
  assert(inC > 0 && least > 0);
}, [NODE]);
