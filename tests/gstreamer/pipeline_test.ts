/** Pipelines: what they are made of, their states, their errors, and their ends. */
import { assertAlive } from "../alive.ts";
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { ArgumentError, DisposedError, type Frame, host, imageInfo, InteropError, ledger } from "@samepage/interop";
import { GStreamerContext, type Pipeline, PipelineError } from "@samepage/interop/gstreamer";
import { bytesAt } from "../conformance/bytes.ts";
import { clip } from "../ffmpeg/clips.ts";
import { collect } from "../gc.ts";
import { sleep } from "../misuse/kit.ts";
import { warningsOf } from "../warnings.ts";
import { Open, test } from "./open.ts";
import { pendingOf, postWarning } from "./raw.ts";

const SMALL = "video/x-raw,format=GRAY8,width=16,height=8";

/** How many frames come out of a sink until its end. */
async function count(pipeline: Pipeline, name = "out"): Promise<number> {
  let frames = 0;
  for await (using _ of pipeline.sink(name)) frames++;
  return frames;
}

test("launch() makes a pipeline of one element, too, and of bins", async () => {
  using gst = await GStreamerContext.open();
  for (const description of ["videotestsrc", "( videotestsrc ! queue ) ! fakesink", 'fakesrc name="a b" ! fakesink']) {
    await using pipeline = gst.launch(description);
    assert(pipeline.handle > 0n);
  }
});

test("launch() says what is wrong with a description, and leaves nothing", async () => {
  using gst = await GStreamerContext.open();
  const wrong = (description: string, says: string) => {
    const error = assertThrows(() => gst.launch(description), ArgumentError, says);
    assertEquals([error.argument, error.fn], ["description", "gst_parse_launch"]);
  };
  wrong("videotestsrc ! nonesuch ! fakesink", 'no element "nonesuch"');
  wrong("videotestsrc nosuch=1 ! fakesink", 'no property "nosuch"');
  wrong("videotestsrc ! audioconvert ! fakesink", "could not link");
  wrong("videotestsrc ! ! fakesink", "syntax error");
  wrong("", "empty");
});

test("a loop over a sink has the pipeline play, and ends at the end of the stream", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch(`videotestsrc num-buffers=300 ! ${SMALL} ! appsink name=out sync=false`);
  assertEquals(await count(pipeline), 300);
  assertEquals(await pipeline.ended(), true);
  assertEquals(await count(pipeline), 0);
});

test("two sinks are read side by side", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch(
    `videotestsrc num-buffers=50 ! ${SMALL} ! tee name=t ! queue ! appsink name=a sync=false t. ! queue ! appsink name=b sync=false`,
  );
  assertEquals(await Promise.all([count(pipeline, "a"), count(pipeline, "b")]), [50, 50]);
});

test("play(), pause() and stop() return once the state is reached, and play() begins anew after stop()", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch(`videotestsrc num-buffers=20 ! ${SMALL} ! appsink name=out sync=false`);
  await pipeline.pause();
  assertEquals(pipeline.position, 0);
  await pipeline.play();
  assertEquals(await count(pipeline), 20);
  await pipeline.stop();
  assertEquals(pipeline.position, undefined);
  await pipeline.play();
  assertEquals(await count(pipeline), 20);
});

test("stop() ends a loop that waits for a frame", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch("appsrc ! appsink name=out");
  const counted = count(pipeline);
  await sleep(20);
  await pipeline.stop();
  assertEquals(await counted, 0);
});

test("a change of state that another one overtakes says so", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch("appsrc ! fakesink");
  const playing = assertRejects(() => pipeline.play(), InteropError, "asked for another state before it was PLAYING");
  await sleep(10);
  await pipeline.stop();
  await playing;
});

test("pause() in the middle of a start returns each time, and play() says that it was overtaken", async () => {
  using gst = await GStreamerContext.open();
  for (let i = 0; i < 60; i++) { // asked so, GStreamer itself stays on the way in one time of ten
    await using pipeline = gst.launch(`videotestsrc ! ${SMALL} ! appsink name=out`);
    const playing = assertRejects(() => pipeline.play(), InteropError, "another state before it was PLAYING");
    await pipeline.pause();
    await playing;
  }
});

test("pause() in the middle of a start is overtaken by play(), and by stop()", async () => {
  using gst = await GStreamerContext.open();
  for (const [source, next] of [["videotestsrc", "play"], ["appsrc", "stop"]] as const) {
    await using pipeline = gst.launch(`${source} ! fakesink`);
    const playing = pipeline.play().catch(() => {});
    const paused = assertRejects(() => pipeline.pause(), InteropError, "another state before it was PAUSED");
    await pipeline[next]();
    await Promise.all([playing, paused]);
  }
});

test("a write goes into a pipeline that is paused in the middle of its start", async () => {
  using open = new Open();
  const info = imageInfo({ format: "GRAY8", width: 16, height: 8 });
  await using pipeline = open.gst.launch("appsrc name=in ! fakesink");
  const writer = pipeline.source("in", info).getWriter();
  const calls = Promise.allSettled([pipeline.play(), pipeline.pause()]);
  using picture = host.allocateFrame(info);
  await using mapped = open.graph.map(picture, open.gst, { access: "read" }) as Frame;
  await writer.write(mapped);
  await pipeline.stop();
  await calls;
});

test("a live source has no frame while it is paused, and pause() returns all the same", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch(`videotestsrc is-live=true num-buffers=3 ! ${SMALL} ! appsink name=out`);
  await pipeline.pause();
  await pipeline.play();
  assertEquals(await count(pipeline), 3);
});

test("an error in preroll is thrown with its element and what its author wrote", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch("filesrc location=/nonesuch ! decodebin ! appsink name=out");
  const error = await assertRejects(() => pipeline.play(), PipelineError, "Resource not found");
  assertEquals([error.element, error.code, error.codeName], ["filesrc0", 3, "gst-resource-error-quark"]);
  assertMatch(error.debug!, /No such file "\/nonesuch"/);
  await assertRejects(() => count(pipeline), PipelineError);
  await assertRejects(() => pipeline.ended(), PipelineError);
});

test("ended() throws an error that comes later, and not the end of the stream", async () => {
  using gst = await GStreamerContext.open();
  for (const pause of [0, 50]) {
    await using pipeline = gst.launch("videotestsrc ! identity error-after=5 ! fakesink");
    await pipeline.play().catch(() => {});
    await sleep(pause);
    await assertRejects(() => pipeline.ended(), PipelineError, "Failed after iterations");
  }
});

test("a loop throws an error that comes later, after the frames before it, and not the end of the stream", async () => {
  using gst = await GStreamerContext.open();
  for (let round = 0; round < 20; round++) { // the sink is at its end as well
    await using pipeline = gst.launch(
      `videotestsrc ! ${SMALL} ! identity error-after=10 ! appsink name=out sync=false`,
    );
    let frames = 0;
    const error = await assertRejects(async () => {
      for await (using _ of pipeline.sink("out")) frames++;
    }, PipelineError);
    assertEquals([frames, error.element.replace(/\d+$/, "")], [9, "identity"]);
  }
});

test("stop() after an error has play() begin anew", async () => {
  using gst = await GStreamerContext.open();
  const path = await Deno.makeTempFile();
  try {
    await Deno.remove(path);
    await using pipeline = gst.launch(`filesrc location=${path} ! fakesink`);
    await assertRejects(() => pipeline.play(), PipelineError);
    await pipeline.stop();
    await Deno.writeFile(path, new Uint8Array(10));
    assertEquals(await pipeline.ended(), true);
  } finally {
    await Deno.remove(path);
  }
});

test("the end of the stream in the middle ends the loop", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch(`videotestsrc ! ${SMALL} ! identity eos-after=10 ! appsink name=out sync=false`);
  assertEquals(await count(pipeline), 9);
});

test("warnings are written with console.warn, or passed to the program", async () => {
  using gst = await GStreamerContext.open();
  const post = async (options: Parameters<GStreamerContext["launch"]>[1]) => {
    await using pipeline = gst.launch("videotestsrc num-buffers=1 ! fakesink name=last", options);
    await pipeline.play();
    postWarning(pipeline.handle, "the lens is dirty", "camera.c(12)");
    await pipeline.ended();
  };
  const written = await warningsOf(() => post({}));
  assertMatch(written.join(), /^samepage: pipeline\d+ warns of gst-stream-error-quark 1: the lens is dirty\.$/);
  const given: PipelineError[] = [];
  assertEquals(await warningsOf(() => post({ warning: (warning) => given.push(warning) })), []);
  assertEquals(given.map(({ debug, code }) => [debug, code]), [["camera.c(12)", 1]]);
});

test("what warning() throws is thrown by what waits, and the pipeline ends all the same", async () => {
  using gst = await GStreamerContext.open();
  const before = JSON.stringify(ledger.alive);
  const warning = () => {
    throw new Error("the program's own");
  };
  const written = await warningsOf(async () => {
    await using pipeline = gst.launch("videotestsrc is-live=true ! fakesink name=last", { warning });
    await pipeline.play();
    postWarning(pipeline.handle, "the lens is dirty", "camera.c(12)");
    await assertRejects(() => pipeline.ended(), Error, "the program's own");
    await pipeline.stop();
    await pipeline.play();
    postWarning(pipeline.handle, "the lens is dirty", "camera.c(12)");
    pipeline[Symbol.dispose](); // reads the bus
  });
  assertEquals(written, ["samepage: the program's own"]);
  assertEquals(JSON.stringify(ledger.alive), before);
});

test("an error says what to do where a link is missing", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch("videotestsrc fakesink");
  const { hint } = await assertRejects(() => pipeline.ended(), PipelineError);
  assertMatch(hint!, /a ! missing/);
});

test("a failure of which the program hears nowhere is warned of at the end", async () => {
  using gst = await GStreamerContext.open();
  let written: string | undefined;
  for (let pause = 200; written === undefined && pause < 30_000; pause *= 2) { // where the error has not come yet
    [written] = await warningsOf(async () => {
      await using pipeline = gst.launch(`videotestsrc ! identity error-after=5 sleep-time=${25 * pause} ! fakesink`);
      if (!await pipeline.play().then(() => true, () => false)) return; // where it has come too early
      await sleep(pause);
    });
  }
  assertMatch(written!, /identity\d+ failed with gst-core-error-quark 1/);
});

test("a bus is read whatever the program does", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch("audiotestsrc num-buffers=200 ! level interval=100000 ! fakesink");
  await pipeline.pause();
  const before = pendingOf(pipeline.handle);
  void pipeline.play();
  const until = performance.now() + 30_000;
  do await sleep(20); while (pipeline.position! < 4.6 || (pendingOf(pipeline.handle) && performance.now() < until));
  assertEquals([before, pendingOf(pipeline.handle)], [false, false]);
});

test("seek() goes to a time of a file, at the end of the stream as well", async () => {
  using gst = await GStreamerContext.open();
  const path = await clip("h264.mkv");
  await using pipeline = gst.launch(`filesrc location=${path} ! decodebin ! appsink name=out sync=false`);
  await pipeline.seek(1);
  assertEquals(pipeline.duration, 2);
  assertEquals(await count(pipeline), 25);
  assertEquals(await pipeline.ended(), true);
  await pipeline.seek(1.5);
  assert(pipeline.position! >= 1.5);
  assertEquals(await Promise.race([pipeline.ended(), sleep(100)]), undefined); // frames wait to be taken
  assertEquals(await count(pipeline), 13);
  await pipeline.seek(1.9, { keyFrame: true });
  assertEquals(await count(pipeline), 14); // key frames are 0.48 seconds apart
});

test("seek() while a loop waits for more goes on there", async () => {
  using gst = await GStreamerContext.open();
  const path = await clip("h264.mkv");
  await using pipeline = gst.launch(`filesrc location=${path} ! decodebin ! appsink name=out sync=false`);
  const times: number[] = [];
  for await (using frame of pipeline.sink("out")) {
    times.push(Number(frame.info.media!.pts! / 1_000_000n));
    if (times.length === 3) await pipeline.seek(1.8);
  }
  assertEquals(times, [0, 40, 80, 1800, 1840, 1880, 1920, 1960]);
});

test("flush() drops what waits, and the pipeline goes on", async () => {
  using gst = await GStreamerContext.open();
  await using pipeline = gst.launch(`videotestsrc ! ${SMALL} ! queue ! appsink name=out sync=false`);
  let frames = 0;
  for await (using _ of pipeline.sink("out", { queue: 8 })) {
    if (++frames === 10) await pipeline.flush();
    if (frames === 30) break;
  }
});

test("flush() has a file go on at a key frame, up to its end", async () => {
  using gst = await GStreamerContext.open();
  const path = await clip("h264.mkv");
  await using pipeline = gst.launch(`filesrc location=${path} ! decodebin ! appsink name=out sync=false`);
  const times: bigint[] = [];
  for await (using frame of pipeline.sink("out", { signal: AbortSignal.timeout(60_000) })) {
    times.push(frame.info.media!.pts!);
    if (times.length === 3) await pipeline.flush();
  }
  const after = times.slice(3);
  assert(after.every((time, i) => i === 0 || time > after[i - 1]), times.join());
  assertEquals(after.at(-1), 1_960_000_000n);
  assertEquals(await pipeline.ended(), true);
});

test("the end of a pipeline in any state leaves nothing", async () => {
  using gst = await GStreamerContext.open();
  const states: Record<string, (pipeline: Pipeline) => unknown> = {
    "appsrc ! fakesink": (pipeline) => void pipeline.play().catch(() => {}), // in the middle of a preroll
    "videotestsrc ! appsink name=out": (pipeline) => pipeline.play(), // a sink that nobody reads
    "videotestsrc ! identity error-after=3 ! appsink name=out": (pipeline) => pipeline.play(),
    "videotestsrc ! fakesink": () => {}, // it never began
    "videotestsrc ! fakesink sync=true": (pipeline) => pipeline.pause(),
    "videotestsrc ! identity sleep-time=20000 ! fakesink": (pipeline) => void pipeline.play().catch(() => {}),
    "appsrc ! appsink name=out": (pipeline) => void count(pipeline).catch(() => {}), // in the middle of a pull
  };
  for (const [description, begin] of Object.entries(states)) {
    for (const pause of [0, 10]) {
      await warningsOf(async () => {
        await using waited = gst.launch(description);
        await begin(waited);
        await sleep(pause);
      });
      await warningsOf(async () => {
        const blocking = gst.launch(description);
        await begin(blocking);
        await sleep(pause);
        blocking[Symbol.dispose]();
        await blocking[Symbol.asyncDispose]();
      });
    }
  }
});

test("the end of the context ends its pipelines, and frames live on", async () => {
  const gst = await GStreamerContext.open();
  const pipeline = gst.launch(`videotestsrc ! ${SMALL} ! appsink name=out sync=false`);
  const loop = pipeline.sink("out")[Symbol.asyncIterator]();
  const { value } = await loop.next();
  await pipeline[Symbol.asyncDispose]();
  const [plane] = value!.planes;
  assert(gst.is(plane));
  assertEquals(bytesAt(plane.address, 1).length, 1);
  value![Symbol.dispose]();
  const other = gst.launch("videotestsrc ! fakesink");
  await other.play();
  await gst[Symbol.asyncDispose]();
  assertThrows(() => other.handle, DisposedError);
  await assertRejects(() => loop.next(), DisposedError);
});

test("a pipeline that was forgotten is ended, with a warning", async () => {
  using gst = await GStreamerContext.open();
  const before = ledger.alive;
  const written = await warningsOf(async () => {
    await (() => gst.launch("videotestsrc ! fakesink").play())();
    await collect();
    await assertAlive({ ...before }, "after the forgotten pipeline");
  });
  assertMatch(written.join("\n"), /GStreamer pipeline was never disposed/);
});

test("a sink keeps its pipeline while a loop reads it", async () => {
  using gst = await GStreamerContext.open();
  const sink = (() => gst.launch(`videotestsrc num-buffers=40 ! ${SMALL} ! appsink name=out sync=false`).sink("out"))();
  let frames = 0;
  for await (using _ of sink) if (++frames % 10 === 0) await collect(1);
  assertEquals(frames, 40);
  sink.pipeline[Symbol.dispose]();
});
