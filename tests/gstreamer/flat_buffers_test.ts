/** Memory stays as it is over many buffers, those that are attached and those that are handed over. */
import { assert } from "@std/assert";
import { host, imageInfo } from "@samepage/interop";
import { assertOpenFds, collect, openFds } from "../gc.ts";
import { CBuffer, memory, Owned } from "./buffers.ts";
import { testOpen } from "./open.ts";

const FRAMES = Number(Deno.env.get("SAMEPAGE_FLAT_FRAMES") ?? 4000);
const [WIDTH, HEIGHT] = [320, 240];
const CAPS = `video/x-raw,format=NV12,width=${WIDTH},height=${HEIGHT}`;

const rss = () => Deno.memoryUsage().rss / 2 ** 20;

testOpen(`memory is flat over ${FRAMES} buffers each way`, async (open) => {
  let [warm, fds] = [0, 0];
  for (let round = 0; round < 4; round++) {
    for (let i = 0; i < FRAMES / 4; i++) {
      using made = new CBuffer(memory(WIDTH * HEIGHT * 3 / 2));
      using sample = made.sample(CAPS);
      using frame = open.gst.attach(sample.address);
      using _seen = open.map(frame);
      using picture = host.allocateFrame(imageInfo({ format: "NV12", width: WIDTH, height: HEIGHT }));
      await using mapped = open.graph.map(picture, open.gst, { access: "read" });
      new Owned(open.gst.buffer(mapped))[Symbol.dispose]();
    }
    await collect();
    if (round === 0) [warm, fds] = [rss(), openFds()];
  }
  const grown = rss() - warm;
  console.log(`${warm.toFixed(0)} MiB after a quarter, ${grown.toFixed(1)} MiB more at the end`);
  assertOpenFds(fds);
  assert(grown < 32, `${grown} MiB more`); // one picture kept in a hundred would be more
});
