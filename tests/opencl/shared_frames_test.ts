// examples/shared-frames as a user runs it.

import { assert, assertEquals, assertMatch } from "@std/assert";
import sharp from "sharp";
import { exec, temporaryFolder } from "../package/project.ts";
import { deviceOf, MIGRATING, testEach } from "./help.ts";

testEach("examples: shared-frames filters another process's frames where they lie", async (platform) => {
  await using folder = await temporaryFolder();
  const sheet = `${folder.path}/sheet.png`;
  const { code, stdout, stderr } = await exec(
    Deno.execPath(),
    ["run", "-A", "examples/shared-frames/main.ts", sheet],
    { env: { SAMEPAGE_OPENCL_DEVICE: deviceOf(platform).platform } },
  );
  assertEquals(code, 0, stdout + stderr);
  const lines = stdout.trimEnd().split("\n");
  const frames = lines.filter((line) => line.startsWith("frame "));
  assertEquals(frames.map((line) => /(\d+) of process \d+, at (\d+) ms/.exec(line)!.slice(1).map(Number)), [
    ...Array.from({ length: 24 }, (_, i) => [i + 1, 40 * i]),
  ]);
  if (MIGRATING.includes(platform)) {
    assertMatch(lines[0], /host→opencl: migrate/);
    assertMatch(stdout, /^copied +[1-9]\d* bytes; missed 0 frames$/m);
  } else {
    assertMatch(lines[0], /host→opencl: alias/);
    assertMatch(stdout, /^copied +0 bytes; missed 0 frames$/m);
  }
  const { data, info } = await sharp(sheet).raw().toBuffer({ resolveWithObject: true });
  assertEquals([info.width, info.height, info.channels], [960, 480, 4]);
  const places = frames.map((_, i) => ballIn(data, 160 * (i % 6), 120 * Math.floor(i / 6)));
  for (const [i, place] of places.entries()) {
    if (i > 0) assert(place > places[i - 1], `the ball is at ${place} of tile ${i}, and was at ${places[i - 1]}`);
  }
});

/** How far right the red pixels of a tile are. */
function ballIn(rgba: Uint8Array, left: number, top: number): number {
  let [count, sum] = [0, 0];
  for (let y = top; y < top + 120; y++) {
    for (let x = left; x < left + 160; x++) {
      const at = 4 * (960 * y + x);
      if (rgba[at] < 2 * rgba[at + 1] || rgba[at] < 2 * rgba[at + 2]) continue;
      count++;
      sum += x - left;
    }
  }
  assert(count > 100, `${count} red pixels`);
  return sum / count;
}
