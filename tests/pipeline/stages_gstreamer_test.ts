// GStreamer's stages: out of an appsink, into an appsrc.
import { assertEquals, assertRejects } from "@std/assert";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { host, type HostTensor } from "@samepage/interop";
import { fromGStreamer, operation, pipeline, StageError, toGStreamer } from "@samepage/interop/pipeline";
import { test } from "../gstreamer/open.ts";
import { inFolder } from "./folder.ts";

const CAPS = "video/x-raw,format=I420,width=128,height=48,framerate=25/1";
const SOURCE = `videotestsrc num-buffers=10 ! ${CAPS} ! appsink name=out sync=false`;

const invert = operation<HostTensor>(host, function invert(from, to) {
  const [bytes, written] = [from.bytes({ access: "read" }), to.bytes()];
  for (let i = 0; i < written.length; i++) written[i] = 255 - bytes[i];
}, { gives: (info) => info });

test("pipeline: fromGStreamer() and toGStreamer() hand frames from one pipeline of GStreamer's to another", async () => {
  await inFolder(async (folder) => {
    using gst = GStreamerContext.openSync();
    await using from = gst.launch(SOURCE);
    await using to = gst.launch(`appsrc name=in ! ${CAPS} ! filesink buffer-mode=unbuffered location=${folder}/raw`);
    const { frames, bytesMoved } = await pipeline(fromGStreamer(from, "out"), invert, toGStreamer(to, "in")).run();
    assertEquals([frames, bytesMoved], [10, 0]);
    assertEquals(Deno.statSync(`${folder}/raw`).size, 10 * 128 * 48 * 3 / 2); // whole, once the run has ended
  });
});

test("pipeline: fromGStreamer() has each frame's time", async () => {
  using gst = GStreamerContext.openSync();
  await using from = gst.launch(SOURCE);
  const times: (bigint | undefined)[] = [];
  for await (using frame of fromGStreamer(from, "out")) times.push(frame.info.media?.pts);
  assertEquals(times, Array.from({ length: 10 }, (_, i) => BigInt(i) * 40_000_000n));
});

test("pipeline: an element's error ends fromGStreamer(), by its name", async () => {
  using gst = GStreamerContext.openSync();
  await using from = gst.launch("filesrc location=/nothing ! decodebin ! appsink name=frames");
  const error = await assertRejects(async () => {
    for await (using _ of fromGStreamer(from, "frames"));
  }, StageError);
  assertEquals(error.stage, "frames");
});

test("pipeline: what ends a pipeline stops the one that toGStreamer() writes to", async () => {
  using gst = GStreamerContext.openSync();
  await using from = gst.launch(SOURCE);
  await using to = gst.launch("appsrc name=in ! fakesink");
  let count = 0;
  const fails = operation<HostTensor>(host, () => {
    if (++count === 10) throw new Error("no more");
  }, { name: "fails", gives: (info) => info });
  await assertRejects(
    () => pipeline(fromGStreamer(from, "out"), fails, toGStreamer(to, "in")).run(),
    StageError,
    "fails: no more",
  );
  assertEquals(to.position, undefined); // it stands still
});
