/** The example: a clip through FFmpeg and OpenCL and back. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { HERE } from "../opencl/help.ts";
import { deno } from "../process.ts";
import { clip, missing } from "./clips.ts";

const lacking = missing ?? (HERE.includes("pocl") ? undefined : "PoCL");

Deno.test({
  name: `example decode-filter-encode${lacking === undefined ? "" : ` (not here: ${lacking})`}`,
  ignore: lacking !== undefined,
  async fn() {
    const folder = await Deno.makeTempDir();
    try {
      const args = ["run", "-A", "--no-check", "examples/decode-filter-encode/main.ts", await clip("h264.mp4"), folder];
      const { code, stdout, stderr } = await deno(args);
      assertEquals(code, 0, stdout + stderr);
      for (const line of [/^frames +50, /m, /^copied +0 bytes/m, /^left +nothing/m]) assertMatch(stdout, line);
      using ffmpeg = FFmpegContext.open();
      await using blurred = ffmpeg.decode(`${folder}/blurred.mp4`);
      const { stream } = await blurred.info();
      assertEquals([stream.codec, stream.width, stream.height, stream.frameRate], ["h264", 160, 120, [25, 1]]);
      let count = 0;
      for await (using _ of blurred) count++;
      assertEquals(count, 50);
      for await (using sheet of ffmpeg.decode(`${folder}/sheet.png`)) assert(sheet.info.type === "image");
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
