// The examples: a clip's edges, and where its text is; two processes; a page that shows frames.
import { assertEquals, assertMatch } from "@std/assert";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { clip, missing } from "../ffmpeg/clips.ts";
import { HERE } from "../opencl/help.ts";
import { present as hasOpenCV } from "../opencv/help.ts";
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

Deno.test("example two-processes: a reader dies, another one comes, and the rest goes to that", async () => {
  const { code, stdout, stderr } = await deno(["run", "-A", "--no-check", "examples/two-processes/main.ts", "60"], {
    limit: 60,
  });
  assertEquals(code, 0, stdout + stderr);
  // One frame may go out after the reader's death and before the writer has seen it: no reader gets that.
  for (const line of [/^reader +40 frames, 0 torn; it dies/m, /^reader +(?:19|20) frames, 0 torn, 0 bytes copied/m]) {
    assertMatch(stdout, line);
  }
  for (const line of [/^painted +60 frames, 0 bytes copied/m, /^left +nothing/m]) assertMatch(stdout, line);
});

const lacksView = !HERE.includes("pocl") ? "PoCL" : hasOpenCV ? undefined : "OpenCV";

Deno.test({
  name: `example live-view${lacksView === undefined ? "" : ` (not here: ${lacksView})`}`,
  ignore: lacksView !== undefined,
  fn: async () => {
    const { code, stdout, stderr } = await deno(["run", "-A", "--no-check", "examples/live-view/main.ts", "0.2"], {
      limit: 60,
    });
    assertEquals(code, 0, stdout + stderr);
    for (const line of [/^page +http:\/\/127\.0\.0\.1:\d+\/$/m, /^viewer +6 frames/m, /^left +nothing/m]) {
      assertMatch(stdout, line);
    }
  },
});
