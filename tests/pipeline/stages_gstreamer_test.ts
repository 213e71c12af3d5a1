// GStreamer's stages: out of an appsink, into an appsrc.
import { assertEquals, assertRejects } from "@std/assert";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { host, type HostTensor } from "@samepage/interop";
import { appSink, appSource, operation, pipeline, StageError } from "@samepage/interop/pipeline";
import { test } from "../gstreamer/open.ts";
import { inFolder } from "./folder.ts";

const CAPS = "video/x-raw,format=I420,width=128,height=48,framerate=25/1";
const SOURCE = `videotestsrc num-buffers=10 ! ${CAPS} ! appsink name=out sync=false`;

const invert = operation<HostTensor>(host, function invert(from, to) {
  const [bytes, written] = [from.bytes({ access: "read" }), to.bytes()];
  for (let i = 0; i < written.length; i++) written[i] = 255 - bytes[i];
}, { gives: (info) => info });

test("pipeline: appSource() and appSink() hand frames from one pipeline of GStreamer's to another", async () => {
  await inFolder(async (folder) => {
    using gst = GStreamerContext.openSync();
    await using from = gst.launch(SOURCE);
    await using to = gst.launch(`appsrc name=in ! ${CAPS} ! filesink buffer-mode=unbuffered location=${folder}/raw`);
    const { frames, bytesMoved } = await pipeline(appSource(from, "out"), invert, appSink(to, "in")).run();
    assertEquals([frames, bytesMoved], [10, 0]);
    assertEquals(Deno.statSync(`${folder}/raw`).size, 10 * 128 * 48 * 3 / 2); // whole, once the run has ended
  });
});

test("pipeline: appSource() has each frame's time", async () => {
  using gst = GStreamerContext.openSync();
  await using from = gst.launch(SOURCE);
  const times: (bigint | undefined)[] = [];
  for await (using frame of appSource(from, "out")) times.push(frame.info.media?.pts);
  assertEquals(times, Array.from({ length: 10 }, (_, i) => BigInt(i) * 40_000_000n));
});

test("pipeline: an element's error ends appSource(), by its name", async () => {
  using gst = GStreamerContext.openSync();
  await using from = gst.launch("filesrc location=/nothing ! decodebin ! appsink name=frames");
  const error = await assertRejects(async () => {
    for await (using _ of appSource(from, "frames"));
  }, StageError);
  assertEquals(error.stage, "frames");
});

test("pipeline: what ends a pipeline stops the one that appSink() writes to", async () => {
  using gst = GStreamerContext.openSync();
  await using from = gst.launch(SOURCE);
  await using to = gst.launch("appsrc name=in ! fakesink");
  let count = 0;
  const fails = operation<HostTensor>(host, () => {
    if (++count === 10) throw new Error("no more");
  }, { name: "fails", gives: (info) => info });
  await assertRejects(
    () => pipeline(appSource(from, "out"), fails, appSink(to, "in")).run(),
    StageError,
    "fails: no more",
  );
  assertEquals(to.position, undefined); // it stands still
});
