/** Memory and fds stay as they are over many frames, of an encoder that copies them and of one that keeps some. */
import { assert, assertEquals } from "@std/assert";
import { type Frame, host, imageInfo, ledger, MapperGraph } from "@samepage/interop";
import { FFmpegContext, type FFmpegTensor } from "@samepage/interop/ffmpeg";
import { assertAlive } from "../alive.ts";
import { collect, openFds } from "../gc.ts";
import { missing } from "./clips.ts";

const FRAMES = Number(Deno.env.get("SAMEPAGE_FLAT_FRAMES") ?? 3000);

const rss = () => Deno.memoryUsage().rss / 2 ** 20;

for (const codec of ["rawvideo", "ffv1", "mpeg4"] as const) {
  Deno.test({
    name: `encode: ${codec}: memory is flat over ${FRAMES} frames${
      missing === undefined ? "" : ` (not here: ${missing})`
    }`,
    ignore: missing !== undefined,
    async fn() {
      const folder = await Deno.makeTempDir();
      const alive = ledger.alive;
      try {
        using ffmpeg = FFmpegContext.open();
        using graph = new MapperGraph([host, ffmpeg]);
        let [warm, fds, count] = [0, 0, 0];
        for (let file = 0; file < 5; file++) {
          const path = `${folder}/out.nut`;
          await using out = ffmpeg.encode(path, { codec, frameRate: 25, options: codec === "mpeg4" ? { bf: 2 } : {} });
          for (let i = 0; i < FRAMES / 5; i++) {
            using picture = host.allocateFrame(imageInfo({ format: "I420", width: 160, height: 120 }), {
              rowAlign: 64,
            });
            using mapped = graph.map(picture, ffmpeg, { access: "read" }) as Frame<FFmpegTensor>;
            await out.write(mapped);
          }
          await out.close();
          for await (using _ of ffmpeg.decode(path)) count++;
          await Deno.remove(path);
          await collect();
          if (file === 1) [warm, fds] = [rss(), openFds()];
        }
        assertEquals([count, openFds()], [FRAMES, fds]);
        const grown = rss() - warm;
        console.log(`${codec}: ${warm.toFixed(0)} MiB after two files, ${grown.toFixed(1)} MiB more after five`);
        assert(grown < 32, `${grown} MiB more`);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
      await assertAlive(alive, "alive after the test");
    },
  });
}
