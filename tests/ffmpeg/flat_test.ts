/** Memory and fds stay as they are over many frames, whichever way they take. */
import { assert, assertEquals } from "@std/assert";
import { type Frame, host, imageInfo, ledger, MapperGraph } from "@samepage/interop";
import { FFmpegContext, type FFmpegTensor } from "@samepage/interop/ffmpeg";
import { assertAlive } from "../alive.ts";
import { collect, openFds } from "../gc.ts";
import { clip, missing as noClips } from "./clips.ts";
import { buildFrames, CFrame, inC } from "./frames.ts";

const FRAMES = Number(Deno.env.get("SAMEPAGE_FLAT_FRAMES") ?? 3000);
const ROUNDS = 5;
const A_ROUND = FRAMES / ROUNDS;
const MIB = 2 ** 20;

const missing = noClips ?? await buildFrames();
const I420 = imageInfo({ format: "I420", width: 160, height: 120 });
const rss = () => Deno.memoryUsage().rss / MIB;

interface There {
  readonly ffmpeg: FFmpegContext;
  readonly graph: MapperGraph;
  readonly folder: string;
}

/** Frames of the host's as FFmpeg's, one after the other. */
function* mapped({ ffmpeg, graph }: There): Generator<Frame<FFmpegTensor>> {
  for (let i = 0; i < A_ROUND; i++) {
    using picture = host.allocateFrame(I420, { rowAlign: 64 });
    using frame = graph.map(picture, ffmpeg, { access: "read" });
    yield frame as Frame<FFmpegTensor>;
  }
}

/** @param round uses {@link A_ROUND} frames, and returns how many there were */
function test(name: string, round: (there: There) => Promise<number>): void {
  Deno.test({
    name: `${name}: memory is flat over ${FRAMES} frames${missing === undefined ? "" : ` (not here: ${missing})`}`,
    ignore: missing !== undefined,
    async fn() {
      const folder = await Deno.makeTempDir();
      const alive = ledger.alive;
      try {
        using ffmpeg = FFmpegContext.open();
        using graph = new MapperGraph([host, ffmpeg]);
        let [warm, fds, count] = [0, 0, 0];
        for (let i = 0; i < ROUNDS; i++) {
          count += await round({ ffmpeg, graph, folder });
          await collect();
          if (i === 1) [warm, fds] = [rss(), openFds()];
        }
        assertEquals([count, openFds()], [FRAMES, fds]);
        const grown = rss() - warm;
        console.log(`${name}: ${warm.toFixed(0)} MiB after two rounds, ${grown.toFixed(1)} MiB more after five`);
        assert(grown < 32, `${grown} MiB more`);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
      await assertAlive(alive, "alive after the test");
    },
  });
}

for (const codec of ["rawvideo", "ffv1", "mpeg4"] as const) {
  test(`encode and decode: ${codec}`, async (there) => {
    const path = `${there.folder}/out.nut`;
    const options = codec === "mpeg4" ? { bf: 2 } : {};
    await using out = there.ffmpeg.encode(path, { codec, frameRate: 25, options });
    for (const frame of mapped(there)) await out.write(frame);
    await out.close();
    let count = 0;
    for await (using _ of there.ffmpeg.decode(path)) count++;
    await Deno.remove(path);
    return count;
  });
}

test("decode into memory of ours", async ({ ffmpeg }) => {
  const path = await clip("h264.mp4");
  let count = 0;
  while (count < A_ROUND) {
    for await (using frame of ffmpeg.decode(path, { into: host, slots: 20, threads: 2 })) {
      assertEquals(frame.target, host);
      if (++count === A_ROUND) break;
    }
  }
  return count;
});

test("attach and avFrame", async (there) => {
  let count = 0;
  for (const frame of mapped(there)) {
    inC().freed(there.ffmpeg.avFrame(frame));
    await frame.finished();
    using made = CFrame.picture("yuv420p", 160, 120);
    using _ = there.ffmpeg.attach(made.pointer);
    count++;
  }
  return count;
});
