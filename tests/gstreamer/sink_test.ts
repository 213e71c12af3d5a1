/** Frames that come out of pipelines: queues, drops, signals, and streams that change. */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ArgumentError, InteropError } from "@samepage/interop";
import { GStreamerContext, type PipelineSink } from "@samepage/interop/gstreamer";
import { sleep } from "../misuse/kit.ts";
import { until } from "../conformance/bytes.ts";
import { test } from "./open.ts";
import { isAtEnd } from "./raw.ts";

const SMALL = "video/x-raw,format=GRAY8,width=16,height=8,framerate=100/1";

/** The numbers of the frames that come, by their times. */
async function numbers(sink: PipelineSink, most = Infinity): Promise<number[]> {
  const found: number[] = [];
  for await (using frame of sink) {
    found.push(Number(frame.info.media!.pts! / 10_000_000n));
    if (found.length === most) break;
  }
  return found;
}

test("sink() has four frames wait, and the pipeline stands still until a loop comes", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch(`videotestsrc num-buffers=20 ! ${SMALL} ! appsink name=out sync=false`);
  const sink = pipeline.sink("out");
  await pipeline.play();
  await sleep(50);
  assert(pipeline.position! <= 0.06, `${pipeline.position}`);
  assertEquals(await numbers(sink), Array.from({ length: 20 }, (_, i) => i));
});

test("sink({ drop: true }) has the newest frames wait", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch(`videotestsrc num-buffers=20 ! ${SMALL} ! appsink name=out sync=false`);
  const sink = pipeline.sink("out", { queue: 3, drop: true });
  await pipeline.play();
  assert(await until(() => isAtEnd(pipeline.handle, "out")), "the frames pass by");
  assertEquals(await numbers(sink), [17, 18, 19]);
});

test("sink() keeps what the description says of its queue", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch(
    `videotestsrc num-buffers=20 ! ${SMALL} ! appsink name=out sync=false max-buffers=2 drop=true`,
  );
  const sink = pipeline.sink("out");
  await pipeline.play();
  assert(await until(() => isAtEnd(pipeline.handle, "out")), "the frames pass by");
  assertEquals(await numbers(sink), [18, 19]);
});

test("sink() returns the same for the same name, and a loop goes on where the one before has stopped", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch(`videotestsrc num-buffers=20 ! ${SMALL} ! appsink name=out sync=false`);
  const sink = pipeline.sink("out");
  assertEquals(pipeline.sink("out"), sink);
  assertEquals(sink.pipeline, pipeline);
  assertEquals(await numbers(sink, 5), [0, 1, 2, 3, 4]);
  assertEquals((await numbers(sink))[0], 5);
});

test("one loop at a time takes a sink's frames", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch(`videotestsrc num-buffers=20 ! ${SMALL} ! appsink name=out sync=false`);
  const sink = pipeline.sink("out");
  for await (using _ of sink) {
    await assertRejects(() => numbers(sink), InteropError, "are taken by another loop");
    break;
  }
});

test("a signal ends a loop that waits, and the pipeline goes on", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch("appsrc name=in ! appsink name=out");
  const reason = new Error("enough");
  const controller = new AbortController();
  const sink = pipeline.sink("out", { signal: controller.signal });
  const waits = numbers(sink);
  setTimeout(() => controller.abort(reason), 20);
  assertEquals(await waits.catch((error) => error), reason);
  assertEquals(await numbers(pipeline.sink("out", { signal: controller.signal })).catch((error) => error), reason);
});

test("a signal ends the loop that it was given to, and no other", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch(`videotestsrc num-buffers=9 ! ${SMALL} ! appsink name=out sync=false`);
  const controller = new AbortController();
  await assertRejects(
    async () => {
      for await (using _ of pipeline.sink("out", { signal: controller.signal })) {
        pipeline.sink("out"); // leaves the signal of the loop under way
        controller.abort(new Error("enough"));
      }
    },
    Error,
    "enough",
  );
  assertEquals((await numbers(pipeline.sink("out"))).length, 8);
});

test("sink() says what is wrong with a name", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch("videotestsrc name=camera ! fakesink name=out");
  assertThrows(() => pipeline.sink("nonesuch"), ArgumentError, 'no element "nonesuch"');
  assertThrows(() => pipeline.sink("out"), ArgumentError, 'the element "out" is not an appsink');
});

test("a stream that changes its size gives frames of the new size", async () => {
  using gst = await GStreamerContext.open();
  const part = (size: string) => `videotestsrc num-buffers=3 ! video/x-raw,format=I420,${size} ! c.`;
  await using pipeline = gst.launch(
    `concat name=c ! appsink name=out sync=false ${part("width=32,height=16")} ${part("width=98,height=50")}`,
  );
  const sizes: string[] = [];
  for await (using frame of pipeline.sink("out")) {
    assert(frame.info.type === "image");
    sizes.push(`${frame.info.width} × ${frame.info.height}: ${frame.planes.map(({ layout }) => layout.shape.join())}`);
  }
  assertEquals(sizes, [
    ...Array(3).fill("32 × 16: 16,32,8,16,8,16"),
    ...Array(3).fill("98 × 50: 50,98,25,49,25,49"),
  ]);
});

test("a frame that cannot be used in place ends the loop with the reason", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch("videotestsrc num-buffers=3 ! jpegenc ! appsink name=out sync=false");
  await assertRejects(() => numbers(pipeline.sink("out")), ArgumentError, "image/jpeg");
});

test("a loop that always has a frame lets timers run", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch(`videotestsrc num-buffers=2000 ! ${SMALL} ! appsink name=out sync=false`);
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  await numbers(pipeline.sink("out", { queue: 2000 }));
  clearInterval(timer);
  assert(turns > 10, `${turns}`);
});
