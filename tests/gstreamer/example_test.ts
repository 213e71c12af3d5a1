/** The examples: a test picture through OpenCL into a file, and a camera that another process sees. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { HERE } from "../opencl/help.ts";
import { deno } from "../process.ts";
import { missing } from "./open.ts";

function example(name: string, lacking: string | undefined, run: (folder: string) => Promise<void>): void {
  Deno.test({
    name: `example ${name}${lacking === undefined ? "" : ` (not here: ${lacking})`}`,
    ignore: lacking !== undefined,
    async fn() {
      const folder = await Deno.makeTempDir();
      try {
        await run(folder);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

async function said(name: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await deno(
    ["run", "-A", "--no-check", `examples/${name}/main.ts`, ...args],
  );
  assertEquals(code, 0, stdout + stderr);
  return stdout;
}

example("gst-opencl", missing ?? (HERE.includes("pocl") ? undefined : "PoCL"), async (folder) => {
  const stdout = await said("gst-opencl", "20", folder);
  for (const line of [/^frames +20, /m, /^copied +0 bytes/m, /^left +nothing/m]) assertMatch(stdout, line);
  using ffmpeg = FFmpegContext.open();
  await using blurred = ffmpeg.decode(`${folder}/blurred.mp4`);
  const { stream } = await blurred.info();
  assertEquals([stream.codec, stream.width, stream.height, stream.frameRate], ["h264", 640, 360, [25, 1]]);
  let count = 0;
  for await (using _ of blurred) count++;
  assertEquals(count, 20);
  for await (using sheet of ffmpeg.decode(`${folder}/sheet.png`)) assert(sheet.info.type === "image");
});

example("gst-camera-like", missing, async () => {
  const stdout = await said("gst-camera-like", "1");
  assertMatch(stdout, /^shown +[1-9]\d* frames/m);
  assertMatch(stdout, /^taken +[1-9]\d* frames/m);
  assertMatch(stdout, /^left +nothing/m);
});
