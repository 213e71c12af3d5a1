/** The example of EGL and CUDA as users run it, in a process of its own: with a GPU and without. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import sharp from "sharp";
import { HEIGHT, ringed, WIDTH } from "../../examples/egl-image-cuda/expected.ts";
import { deno } from "../process.ts";
import { eglCudaTest } from "./gpu.ts";

const MAIN = new URL("../../examples/egl-image-cuda/main.ts", import.meta.url).pathname;
const CONFIG = new URL("../../deno.json", import.meta.url).pathname;

async function run(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { code, stdout, stderr } = await deno(["run", "-A", "--no-check", "-q", "--config", CONFIG, MAIN, ...args], {
    env,
    limit: 60,
  });
  assertEquals([code, stderr], [0, ""], stdout);
  return stdout;
}

Deno.test("examples: egl-image-cuda without CUDA says what is missing, and ends well", async () => {
  assertMatch(await run([], { SAMEPAGE_LIB_CUDART: "/nonexistent" }), /^device +none\. No cudart library/);
});

eglCudaTest("examples: egl-image-cuda has GL and CUDA see the same pixels, and writes them", async () => {
  const folder = await Deno.makeTempDir({ prefix: "samepage-egl-" });
  try {
    const out = `${folder}/rings.png`;
    const said = await run([out]);
    console.log(said);
    assert(!said.includes("WRONG"), said);
    assertStringIncludes(said, "egl.image→cuda.image: alias");
    assertEquals(said.match(/GL and CUDA see the same pixels; they are the CPU's/g)?.length, 3, said);
    for (const waits of [/CUDA waits for GL on the (device|host: .)/, /GL waits for CUDA on the (device|host: .)/]) {
      assertMatch(said, waits);
    }
    assertStringIncludes(said, "nothing: every native object was given back");
    const { data, info } = await sharp(out).raw().toBuffer({ resolveWithObject: true });
    assertEquals([info.width, info.height, info.channels], [WIDTH, HEIGHT, 4]);
    assertEquals(new Uint8Array(data), ringed());
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
