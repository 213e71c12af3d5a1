/** Frames of a program's, written into pipelines. */
import { until } from "../conformance/bytes.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import {
  ArgumentError,
  Frame,
  type FrameInfo,
  host,
  type HostTensor,
  imageInfo,
  InteropError,
  MapperGraph,
} from "@samepage/interop";
import { GStreamerContext, type GStreamerTensor, type Pipeline, PipelineError } from "@samepage/interop/gstreamer";
import { sleep } from "../misuse/kit.ts";
import { test } from "./open.ts";

const GRAY = imageInfo({ format: "GRAY8", width: 20, height: 6 });

interface There {
  readonly graph: MapperGraph;
  readonly pipeline: Pipeline;
  /** A frame all of whose bytes are `value`, as GStreamer's. */
  frame(value: number, info?: FrameInfo): Frame<GStreamerTensor>;
}

/** A test with a pipeline. */
function withPipeline(name: string, description: string, use: (there: There) => Promise<void>): void {
  test(name, async () => {
    using gst = await GStreamerContext.open();
    using graph = new MapperGraph([host, gst]);
    const pictures: Frame<HostTensor>[] = [];
    const frame = (value: number, info: FrameInfo = GRAY) => {
      const picture = host.allocateFrame(info, { rowAlign: 64 });
      pictures.push(picture);
      for (const plane of picture.planes) plane.bytes().fill(value);
      return graph.map(picture, gst, { access: "read" }) as Frame<GStreamerTensor>;
    };
    {
      await using pipeline = gst.launch(description);
      await use({ graph, pipeline, frame });
    }
    for (const picture of pictures) await picture[Symbol.asyncDispose]();
  });
}

/** What comes out: the first byte of each frame. */
async function firsts({ pipeline, graph }: Pick<There, "pipeline" | "graph">): Promise<number[]> {
  const values: number[] = [];
  for await (using frame of pipeline.sink("out")) {
    using seen = graph.map(frame, host, { access: "read" }) as Frame<HostTensor>;
    values.push(seen.planes[0].bytes({ access: "read" })[0]);
  }
  return values;
}

const THROUGH = "appsrc name=in ! videoflip video-direction=180 ! appsink name=out sync=false";

withPipeline(
  "source() sends frames with padded rows through, and close() is the end of the stream",
  THROUGH,
  async (there) => {
    const { pipeline, graph, frame } = there;
    const writer = pipeline.source("in", GRAY).getWriter();
    const read = (async () => {
      const values: number[][] = [];
      for await (using out of pipeline.sink("out")) {
        using seen = graph.map(out, host, { access: "read" }) as Frame<HostTensor>;
        values.push([...new Set(seen.planes[0].view({ access: "read" }) as Uint8Array)]);
      }
      return values;
    })();
    for (let i = 1; i <= 30; i++) {
      using each = frame(i);
      await writer.write(each);
    }
    await writer.close();
    assertEquals(await read, Array.from({ length: 30 }, (_, i) => [i + 1]));
    assertEquals(await pipeline.ended(), true);
  },
);

withPipeline("source() takes a stream that is piped to it", THROUGH, async (there) => {
  const frames = [1, 2, 3].map((value) => there.frame(value));
  const piped = ReadableStream.from(frames).pipeTo(there.pipeline.source("in", GRAY));
  const [values] = await Promise.all([firsts(there), piped]);
  assertEquals(values, [1, 2, 3]);
  for (const frame of frames) await frame[Symbol.asyncDispose]();
});

const FULL = "appsrc name=in ! appsink max-buffers=1 sync=false";

withPipeline(
  "a write waits while the source is full, and the bytes are GStreamer's until it has let go",
  FULL,
  async ({ pipeline, frame }) => {
    const writer = pipeline.source("in", GRAY, { queue: 2 }).getWriter();
    const frames = Array.from({ length: 5 }, (_, i) => frame(i));
    let written = 0;
    const writes = Promise.allSettled(frames.map((each) => writer.write(each).then(() => written++)));
    await until(() => written >= 4);
    await sleep(50);
    assertEquals(written, 4); // one is in the appsink, one in front of it, and two wait
    const ends = frames.map((each) => each[Symbol.asyncDispose]());
    assertEquals(await Promise.race([Promise.all(ends), sleep(20).then(() => "in use")]), "in use");
    await pipeline.stop();
    await writes;
    await Promise.all(ends);
  },
);

withPipeline(
  "the description says how many frames wait",
  "appsrc name=in max-buffers=1 ! appsink max-buffers=1 sync=false",
  async ({ pipeline, frame }) => {
    const writer = pipeline.source("in", GRAY).getWriter();
    let written = 0;
    const frames = Array.from({ length: 5 }, (_, i) => frame(i));
    const writes = Promise.allSettled(frames.map((each) => writer.write(each).then(() => written++)));
    await until(() => written >= 3);
    await sleep(50);
    assertEquals(written, 3);
    await pipeline.stop();
    assertEquals((await writes).map(({ status }) => status), [
      "fulfilled",
      "fulfilled",
      "fulfilled",
      "rejected",
      "rejected",
    ]);
    for (const each of frames) await each[Symbol.asyncDispose]();
  },
);

test("the end of a context ends a pipeline that keeps frames of it", async () => {
  const gst = await GStreamerContext.open();
  using graph = new MapperGraph([host, gst]);
  using picture = host.allocateFrame(GRAY, { rowAlign: 64 });
  const frame = graph.map(picture, gst, { access: "read" }) as Frame<GStreamerTensor>;
  const pipeline = gst.launch(FULL); // nothing takes frames out of it
  await pipeline.source("in", GRAY).getWriter().write(frame);
  const ended = gst[Symbol.asyncDispose]();
  assertEquals(await Promise.race([ended, sleep(10_000).then(() => "waits")]), undefined);
  assert(!frame.resource.isLive && !pipeline.resource.isLive);
});

withPipeline("a write that waits while the pipeline is stopped, and plays again, says so", FULL, async (there) => {
  const { pipeline, frame } = there;
  const writer = pipeline.source("in", GRAY, { queue: 1 }).getWriter();
  const frames = Array.from({ length: 6 }, (_, i) => frame(i));
  let written = 0;
  const writes = Promise.allSettled(frames.map((each) => writer.write(each).then(() => written++)));
  await until(() => written >= 3);
  const changes = Promise.allSettled([pipeline.stop(), pipeline.play()]);
  for (const write of await Promise.race([writes, changes.then(() => [])])) {
    if (write.status === "rejected") assertMatch(`${write.reason}`, /takes no more frames: it was stopped/);
  }
  await pipeline.stop();
  await Promise.all([writes, changes]);
  for (const each of frames) await each[Symbol.asyncDispose]();
});

withPipeline("play() goes on where the pipeline was stopped, and plays again, meanwhile", THROUGH, async (there) => {
  const { pipeline, graph, frame } = there;
  const writer = pipeline.source("in", GRAY).getWriter();
  const played = pipeline.play(); // it waits for a first frame
  await sleep(20);
  const changes = Promise.allSettled([pipeline.stop(), pipeline.play()]);
  using each = frame(7);
  await writer.write(each);
  await writer.close();
  assertEquals(await firsts({ pipeline, graph }), [7]);
  await played;
  await changes;
});

withPipeline("flush() does nothing to a pipeline that is stopped meanwhile", THROUGH, async ({ pipeline, frame }) => {
  const writer = pipeline.source("in", GRAY).getWriter();
  using each = frame(1);
  await writer.write(each);
  const flushed = pipeline.flush();
  await pipeline.stop();
  await flushed;
});

const YUV: FrameInfo = {
  ...imageInfo({ format: "NV12", width: 32, height: 16, colour: { matrix: "bt709", range: "limited" } }),
  media: {
    ...{ frameRate: [30000, 1001], sampleAspect: [4, 3], matrix: "bt709", primaries: "bt709", transfer: "bt709" },
    chromaLocation: "left",
  },
};

withPipeline(
  "what a frame says of itself passes through caps, and comes back",
  "appsrc name=in ! videoflip video-direction=180 ! appsink name=out sync=false",
  async ({ pipeline, frame }) => {
    const writer = pipeline.source("in", YUV).getWriter();
    for (let i = 0; i < 3; i++) {
      await using each = frame(16, YUV);
      void writer.write(each);
      for await (using out of pipeline.sink("out")) {
        const { pts, duration, ...media } = out.info.media!;
        const { discontinuous: _d, keyFrame: _k, timeBase, ...rest } = media;
        assertEquals(rest, YUV.media as object);
        assertEquals([timeBase, pts, duration], [
          [1, 1_000_000_000],
          BigInt(i) * 33366667n,
          33366667n,
        ]);
        assert(out.info.type === "image");
        assertEquals([out.info.format, out.info.colour], ["NV12", YUV.colour]);
        break;
      }
    }
  },
);

withPipeline("a frame of another size changes what comes out", THROUGH, async (there) => {
  const { pipeline, frame } = there;
  const sizes: number[][] = [];
  const writer = pipeline.source("in", GRAY).getWriter();
  const read = (async () => {
    for await (using out of pipeline.sink("out")) {
      assert(out.info.type === "image");
      sizes.push([out.info.width, out.info.height, ...out.planes[0].layout.shape]);
    }
  })();
  for (const [width, height] of [[20, 6], [20, 6], [64, 48], [2, 2]]) {
    using each = frame(1, imageInfo({ format: "GRAY8", width, height }));
    await writer.write(each);
  }
  await writer.close();
  await read;
  assertEquals(sizes, [[20, 6, 6, 20], [20, 6, 6, 20], [64, 48, 48, 64], [2, 2, 2, 2]]);
});

withPipeline("abort() stops the pipeline, and its reason is thrown to who waits", THROUGH, async (there) => {
  const { pipeline, frame } = there;
  const writer = pipeline.source("in", GRAY).getWriter();
  {
    using each = frame(1);
    await writer.write(each);
  }
  const read = assertRejects(() => firsts(there), Error, "the program's own");
  await sleep(20);
  await writer.abort(new Error("the program's own"));
  await read;
  await assertRejects(() => pipeline.ended(), Error, "the program's own");
});

withPipeline(
  "an error says what to do where elements do not fit",
  "appsrc name=in ! video/x-raw,format=NV12 ! fakesink",
  async (there) => {
    const writer = there.pipeline.source("in", GRAY).getWriter();
    writer.closed.catch(() => {});
    await writer.write(there.frame(1));
    const { hint } = await assertRejects(() => there.pipeline.ended(), PipelineError);
    assertMatch(hint!, /videoconvert/);
  },
);

withPipeline("abort() without a reason ends what waits, too", THROUGH, async (there) => {
  const writer = there.pipeline.source("in", GRAY).getWriter();
  await writer.write(there.frame(1));
  await writer.abort();
  await assertRejects(() => firsts(there), DOMException, "aborted");
});

withPipeline("source() takes the place of an older stream of the same name", THROUGH, async (there) => {
  const { pipeline, frame } = there;
  const [older, newer, ended] = [1, 2, 3].map(() => pipeline.source("in", GRAY));
  const refused = (use: Promise<void>) => assertRejects(() => use, InteropError, "Another stream writes");
  await refused(older.getWriter().write(frame(1)));
  await refused(newer.close());
  const writer = ended.getWriter();
  await writer.write(frame(3));
  await writer.close();
  assertEquals(await firsts(there), [3]);
});

withPipeline(
  "a write throws what an element has failed with, also while it waits",
  "appsrc name=in ! identity error-after=3 ! fakesink",
  async ({ pipeline, frame }) => {
    const writer = pipeline.source("in", GRAY, { queue: 1 }).getWriter();
    using each = frame(1);
    const error = await assertRejects(async () => {
      for (let i = 0; i < 20; i++) await writer.write(each);
    }, PipelineError);
    assertEquals(error.codeName, "gst-core-error-quark");
    await assertRejects(() => writer.closed, PipelineError);
    await pipeline.stop();
  },
);

withPipeline(
  "a write says that the stream has ended before",
  "appsrc name=in ! identity eos-after=3 ! fakesink",
  async ({ pipeline, frame }) => {
    const writer = pipeline.source("in", GRAY, { queue: 1 }).getWriter();
    using each = frame(1);
    await assertRejects(
      async () => {
        for (let i = 0; i < 20; i++) await writer.write(each);
      },
      InteropError,
      "it is at the end of the stream",
    );
    await pipeline.stop();
  },
);

withPipeline("a frame that is earlier than the one before is refused", THROUGH, async ({ pipeline, frame }) => {
  const at = (pts: bigint) => ({ ...GRAY, media: { pts, timeBase: [1, 1000] as const } });
  const writer = pipeline.source("in", GRAY).getWriter();
  using late = frame(1, at(40n));
  using early = frame(1, at(20n));
  await writer.write(late);
  await assertRejects(() => writer.write(early), ArgumentError, "the frame is shown at 20000000");
  await pipeline.stop();
});

withPipeline("a source that is never ended holds nothing up", THROUGH, async ({ pipeline, frame }) => {
  const writer = pipeline.source("in", GRAY).getWriter();
  using each = frame(1);
  await writer.write(each);
});

withPipeline("a frame of another API, whose handle is not a GstBuffer, is refused", THROUGH, async ({ pipeline }) => {
  using plane = host.allocate({ shape: [6, 20], dtype: "u8" });
  using surface = Frame.of([plane], GRAY, undefined, 1n); // a VASurfaceID is such a number
  const writer = pipeline.source("in", GRAY).getWriter();
  writer.closed.catch(() => {});
  await assertRejects(() => writer.write(surface), ArgumentError, "it belongs to host");
});

test("a frame of another pipeline is passed on, and may end at once", async () => {
  using gst = await GStreamerContext.open();
  await using from = gst.launch(
    "videotestsrc num-buffers=20 pattern=white ! video/x-raw,format=GRAY8,width=20,height=6 ! appsink name=out sync=false",
  );
  using graph = new MapperGraph([host, gst]);
  await using to = gst.launch("appsrc name=in ! videoflip video-direction=180 ! appsink name=out sync=false");
  const writer = to.source("in", GRAY).getWriter();
  const read = firsts({ graph, pipeline: to });
  for await (const frame of from.sink("out")) {
    await writer.write(frame);
    frame[Symbol.dispose]();
    assertEquals(frame.resource.state, "freed");
  }
  await writer.close();
  assertEquals(await read, Array(20).fill(235));
});
