// The example: a clip's edges, and where its text is.
import { assertEquals, assertMatch } from "@std/assert";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { clip, missing } from "../ffmpeg/clips.ts";
import { HERE } from "../opencl/help.ts";
import { deno } from "../process.ts";
import { inFolder } from "./folder.ts";

const lacking = missing ?? (HERE.includes("pocl") ? undefined : "PoCL");

Deno.test({
  name: `example video-edges${lacking === undefined ? "" : ` (not here: ${lacking})`}`,
  ignore: lacking !== undefined,
  fn: () =>
    inFolder(async (folder) => {
      const args = ["run", "-A", "--no-check", "examples/video-edges/main.ts", await clip("larger.ts"), folder];
      const { code, stdout, stderr } = await deno(args, { limit: 60 });
      assertEquals(code, 0, stdout + stderr);
      for (const line of [/^edges +25 frames/m, /^25 frames, .* 0 bytes moved$/m, /^left +nothing/m]) {
        assertMatch(stdout, line);
      }
      using ffmpeg = FFmpegContext.open();
      let count = 0;
      for await (using _ of ffmpeg.decode(`${folder}/edges.mp4`)) count++;
      assertEquals(count, 25);
      for await (using sheet of ffmpeg.decode(`${folder}/sheet.png`)) assertEquals(sheet.info.type, "image");
    }),
});
