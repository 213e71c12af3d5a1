/** The example of EGLStreams as users run it, in processes of its own: with a GPU and without. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import sharp from "sharp";
import { SIZE } from "../../examples/egl-stream/both.ts";
import { deno } from "../process.ts";
import { streamTest } from "./streams.ts";

const MAIN = new URL("../../examples/egl-stream/main.ts", import.meta.url).pathname;
const CONFIG = new URL("../../deno.json", import.meta.url).pathname;

async function run(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { code, stdout, stderr } = await deno(["run", "-A", "--no-check", "-q", "--config", CONFIG, MAIN, ...args], {
    env,
    limit: 35,
  });
  assertEquals([code, stderr], [0, ""], stdout);
  return stdout;
}

Deno.test("examples: egl-stream without CUDA says what is missing, and ends well", async () => {
  assertMatch(await run([], { SAMEPAGE_LIB_CUDART: "/nonexistent" }), /^device +none\. No cudart library/);
});

streamTest("the example gets every frame of its camera's, and writes the last as GL sees it", async () => {
  const folder = await Deno.makeTempDir({ prefix: "samepage-egl-" });
  try {
    const out = `${folder}/frame.png`;
    const said = await run([out]);
    console.log(said);
    assert(!said.includes("WRONG"), said);
    assertMatch(said, /^stream +300 frames of 256 × 256 from process \d+/m);
    assertMatch(said, /^pixels +every one is its frame's, in its place$/m);
    assertMatch(said, /^GL +its shader sees the same pixels$/m);
    assertStringIncludes(said, "nothing: every native object was given back");
    const { data, info } = await sharp(out).raw().toBuffer({ resolveWithObject: true });
    assertEquals([info.width, info.height, info.channels], [SIZE.width, SIZE.height, 4]);
    const wrong = data.findIndex((byte, i) => byte !== expected(i));
    assertEquals(wrong, -1, `byte ${wrong}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** A byte of the last frame, as kernels.cu has it; the picture has no transparency. */
function expected(at: number): number {
  const [x, y] = [(at >> 2) % SIZE.width, Math.trunc((at >> 2) / SIZE.width)];
  return [x + 3 * 299, y + 5 * 299, (x ^ y) + 299, 255][at % 4] & 255;
}
