// GStreamer's stages: out of an appsink, into an appsrc.
import { assertEquals, assertRejects } from "@std/assert";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { host, type HostTensor } from "@samepage/interop";
import {
  crop,
  fromGStreamer,
  operation,
  pipeline,
  Sink,
  StageError,
  toGStreamer,
  Transform,
} from "@samepage/interop/pipeline";
import { test } from "../gstreamer/open.ts";
import { inFolder } from "./folder.ts";

const CAPS = "video/x-raw,format=I420,width=128,height=48,framerate=25/1";
const HALF = "video/x-raw,format=I420,width=64,height=24,framerate=25/1";
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

test("pipeline: what a stage has found goes through GStreamer's elements as metas, which scale it", async () => {
  using gst = GStreamerContext.openSync();
  await using elements = gst.launch(`appsrc name=in ! videoscale ! ${HALF} ! appsink name=out sync=false`);
  await using from = gst.launch(SOURCE);
  let count = 0;
  const { promise: isWritten, resolve } = Promise.withResolvers<void>();
  const detect = new Transform<HostTensor>({
    name: "detect",
    takes: { memory: host, access: "read" },
    process: ({ metadata }) => {
      if (count === 1) resolve(); // one frame is in flight: the first was written, which sets the appsrc up
      metadata.add("detection", { xMin: 0.25, yMin: 0.5, xMax: 0.5, yMax: 1, confidence: 0.5, label: `${++count}` });
    },
  });
  const found: unknown[] = [];
  const noted = new Sink({
    name: "noted",
    write: ({ regions }) => {
      for (const { x, y, width, height, detection } of regions) found.push([x, y, width, height, detection.label]);
    },
  });
  const writing = pipeline(fromGStreamer(from, "out"), detect, toGStreamer(elements, "in"), { frames: 1 }).run();
  await Promise.race([isWritten, writing]);
  const part = crop({ x: 8, y: 0, width: 32, height: 24 });
  await Promise.all([writing, pipeline(fromGStreamer(elements, "out"), part, noted).run()]);
  assertEquals(found, Array.from({ length: 10 }, (_, i) => [8, 12, 16, 12, `${i + 1}`]));
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
