/** Memory and fds stay as they are over many frames, from a source of a program's through to a sink. */
import { getHeapSpaceStatistics } from "node:v8";
import { assert, assertEquals } from "@std/assert";
import { type Frame, host, imageInfo, MapperGraph } from "@samepage/interop";
import { GStreamerContext, type GStreamerTensor } from "@samepage/interop/gstreamer";
import { collect, openFds } from "../gc.ts";
import { test } from "./open.ts";

const FRAMES = Number(Deno.env.get("SAMEPAGE_FLAT_FRAMES") ?? 2000);
const PARTS = 5;

const rss = () => Deno.memoryUsage().rss / 2 ** 20;

test(`memory is flat over ${FRAMES} frames in and out`, async () => {
  using gst = await GStreamerContext.open();
  using graph = new MapperGraph([host, gst]);
  const info = imageInfo({ format: "I420", width: 160, height: 120 });
  let [warm, fds, taken] = [0, 0, 0];
  for (let part = 0; part < PARTS; part++) {
    await using pipeline = gst.launch(
      "appsrc name=in ! videoflip video-direction=180 ! appsink name=out sync=false",
    );
    const writer = pipeline.source("in", info).getWriter();
    const read = (async () => {
      for await (using _ of pipeline.sink("out")) taken++;
    })();
    for (let i = 0; i < FRAMES / PARTS; i++) {
      using picture = host.allocateFrame(info, { rowAlign: 64 });
      using mapped = graph.map(picture, gst, { access: "read" }) as Frame<GStreamerTensor>;
      await writer.write(mapped);
    }
    await writer.close();
    await read;
    await collect();
    if (part === 1) [warm, fds] = [rss(), openFds()];
  }
  assertEquals(taken, FRAMES);
  assert(openFds() <= fds, `${openFds()} fds, and ${fds} before`);
  const grown = rss() - warm;
  console.log(`${warm.toFixed(0)} MiB after two parts, ${grown.toFixed(1)} MiB more after all`);
  assert(grown < 32, `${grown} MiB more`);
});

/** Resident memory without V8's own heap, whose young part grows up to 48 MiB with what a program allocates. */
function native(): number {
  const heap = getHeapSpaceStatistics().reduce((sum, { physical_space_size }) => sum + physical_space_size, 0);
  return rss() - heap / 2 ** 20;
}

const PIPELINES = 200;

test(`memory is flat over ${PIPELINES} pipelines whose frames come into the program's own`, async () => {
  using gst = await GStreamerContext.open();
  const play = async () => {
    await using pipeline = gst.launch(
      "videotestsrc num-buffers=3 ! video/x-raw,format=NV12,width=320,height=240 ! appsink name=out sync=false",
    );
    let taken = 0;
    for await (using _ of pipeline.sink("out", { into: host, slots: 8 })) taken++;
    assertEquals(taken, 3);
  };
  for (let i = 0; i < PIPELINES / 4; i++) await play();
  await collect();
  const warm = native();
  for (let i = 0; i < PIPELINES; i++) await play();
  await collect();
  const grown = native() - warm;
  console.log(`${warm.toFixed(0)} MiB besides V8's heap, ${grown.toFixed(1)} MiB more after ${PIPELINES} pipelines`);
  assert(grown < 12, `${grown} MiB more: a slot has 0.1 MiB, and there were ${8 * PIPELINES}`);
});
