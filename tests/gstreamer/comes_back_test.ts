/** Frames that a program has written, and that come out of a pipeline again: the same bytes, while their loan runs. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { AccessError, Frame, type FrameInfo, host, type HostTensor, imageInfo } from "@samepage/interop";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { MapperGraph } from "@samepage/interop";
import { OpenCLContext } from "@samepage/interop/opencl";
import { HERE } from "../opencl/help.ts";
import { warningsOf } from "../warnings.ts";
import { Open, test, testOfLateEnds } from "./open.ts";

const NV12 = imageInfo({ format: "NV12", width: 32, height: 16 });
const INFO: FrameInfo = { ...NV12, media: { frameRate: [25, 1] } };

/** A pipeline that sends on what is written. */
class Chain implements AsyncDisposable {
  readonly pipeline;
  readonly #writer;
  readonly #loop;

  constructor({ gst }: Open, elements: string) {
    this.pipeline = gst.launch(`appsrc name=in ! ${elements} ! appsink name=out sync=false`);
    this.#writer = this.pipeline.source("in", INFO).getWriter();
    this.#loop = this.pipeline.sink("out")[Symbol.asyncIterator]();
  }

  write(frame: Frame): Promise<void> {
    return this.#writer.write(frame);
  }

  /** The next frame that comes out. */
  async taken(): Promise<Frame> {
    return (await this.#loop.next()).value!;
  }

  /** Ends the stream, and returns whether that comes out, too. */
  async isEnded(): Promise<boolean> {
    await this.#writer.close();
    return (await this.#loop.next()).done!;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.pipeline[Symbol.asyncDispose]();
  }
}

const picture = (value: number, info = INFO): Frame<HostTensor> => {
  const frame = host.allocateFrame(info);
  for (const plane of frame.planes) plane.bytes().fill(value);
  return frame;
};

/** The same planes in two blocks. */
const apart = (value: number): Frame<HostTensor> => {
  const tensors = [[16, 32], [8, 16, 2]].map((shape) => host.allocate({ shape, dtype: "u8" }));
  for (const tensor of tensors) tensor.bytes().fill(value);
  return Frame.of(tensors, INFO);
};

const lentTo = (open: Open, frame: Frame) => open.graph.map(frame, open.gst, { access: "read" }) as Frame;

/** Writes a frame, and disposes its map. Returns the end of that, which GStreamer and what comes out of it hold up. */
async function written(open: Open, chain: Chain, frame: Frame): Promise<{ readonly ended: Promise<void> }> {
  const mapped = lentTo(open, frame);
  await chain.write(mapped);
  return { ended: mapped[Symbol.asyncDispose]() };
}

/** The first byte of each plane, seen without a copy. */
function seen(open: Open, frame: Frame): readonly number[] {
  using mapped = open.map(frame);
  return mapped.planes.map((plane) => plane.bytes({ access: "read" })[0]);
}

for (const elements of ["identity", "queue", "videorate drop-only=true", "tee ! queue"]) {
  testOfLateEnds(
    `a frame comes out of ${elements} as the bytes that were written, and is lent until it ends`,
    async () => {
      using open = new Open();
      await using frame = picture(7, { ...NV12, media: { pts: 3n, timeBase: [1, 25], frameRate: [25, 1] } });
      frame.metadata.add("detection", { xMin: 0, yMin: 0, xMax: 0.5, yMax: 0.5, label: "cat", id: 1 });
      await using chain = new Chain(open, elements);
      const { ended } = await written(open, chain, frame);
      {
        using back = await chain.taken();
        assertEquals([back.access, back.info.media!.pts, back.regions[0].detection.label], [
          "read",
          120_000_000n,
          "cat",
        ]);
        assertEquals(back.grants[0].allocation, frame.grants[0].allocation);
        assertEquals([...seen(open, back), ...seen(open, back)], [7, 7, 7, 7]);
        const error = assertThrows(() => frame.planes[0].bytes(), AccessError);
        assert(error.hint?.includes("dispose the frames that came back"), error.hint);
        assertThrows(() => open.graph.map(back, host, { access: "read-write" }), AccessError);
        assertEquals(frame.planes[0].bytes({ access: "read" })[0], 7);
      }
      await chain.pipeline.stop();
      await ended;
      frame.planes[0].bytes().fill(8);
    },
  );
}

for (const [made, blocks] of [[picture, "one block"], [apart, "two blocks"]] as const) {
  for (const first of ["what came back", "the map", "the pipeline", "the end of the stream"] as const) {
    testOfLateEnds(`a frame of ${blocks} that came back: ${first} ends first`, async () => {
      using open = new Open();
      const frame = made(9);
      await using chain = new Chain(open, "identity");
      const mapped = lentTo(open, frame);
      await chain.write(mapped);
      const back = await chain.taken();
      const mappedEnds = () => mapped[Symbol.asyncDispose]();
      const ends: Promise<unknown>[] = [];
      if (first === "what came back") back[Symbol.dispose]();
      if (first === "the map") ends.push(mappedEnds(), frame[Symbol.asyncDispose]());
      if (first === "the end of the stream") assertEquals(await chain.isEnded(), true);
      if (first === "the pipeline") await chain[Symbol.asyncDispose]();
      if (first !== "what came back") assertEquals(seen(open, back), [9, 9]);
      back[Symbol.dispose]();
      await chain.pipeline[Symbol.asyncDispose]();
      await Promise.all([...ends, mappedEnds()]);
      await frame[Symbol.asyncDispose]();
    });
  }
}

testOfLateEnds("an element that writes its buffer in place gets a copy of what was written", async () => {
  using open = new Open();
  await using frame = picture(7);
  await using chain = new Chain(open, "videobalance brightness=0.5");
  const { ended } = await written(open, chain, frame);
  {
    using back = await chain.taken();
    assert(seen(open, back)[0] > 100);
  }
  await chain.pipeline.stop();
  await ended;
  assertEquals([...new Set(frame.planes.flatMap((plane) => [...plane.bytes()]))], [7]);
});

testOfLateEnds("stop() ends the loan of what a loop has taken, and the pipeline plays again", async () => {
  using open = new Open();
  await using frame = picture(1);
  await using pipeline = open.gst.launch("appsrc name=in ! queue ! appsink name=out sync=false");
  for (let i = 0; i < 3; i++) {
    const writer = pipeline.source("in", INFO).getWriter();
    await using mapped = lentTo(open, frame);
    await writer.write(mapped);
    for await (using back of pipeline.sink("out")) {
      assertEquals(seen(open, back), [i + 1, i + 1]);
      break;
    }
    await pipeline.stop();
    await mapped[Symbol.asyncDispose]();
    for (const plane of frame.planes) plane.bytes().fill(i + 2);
  }
});

testOfLateEnds(
  "a frame goes round: what came out of one pipeline goes into the next, and comes out of that",
  async () => {
    using open = new Open();
    await using frame = picture(5);
    await using first = new Chain(open, "identity");
    await using second = new Chain(open, "queue");
    const { ended } = await written(open, first, frame);
    let again: Frame;
    {
      using back = await first.taken();
      await second.write(back);
      again = await second.taken();
      assertEquals(seen(open, again), [5, 5]);
    }
    assertEquals([again.target, ...seen(open, again)], [open.gst, 5, 5]); // it does not end with what was written
    await Promise.all([first.pipeline.stop(), second.pipeline.stop()]);
    assertThrows(() => frame.planes[0].bytes(), AccessError);
    again[Symbol.dispose]();
    await ended;
  },
);

testOfLateEnds("GStreamer's own frame comes out of another pipeline, after the frame that was written", async () => {
  using open = new Open();
  await using from = open.gst.launch(
    "videotestsrc num-buffers=1 pattern=white ! video/x-raw,format=NV12,width=32,height=16,framerate=25/1 ! appsink name=out",
  );
  await using chain = new Chain(open, "identity");
  for await (using frame of from.sink("out")) await chain.write(frame);
  await from[Symbol.asyncDispose]();
  using back = await chain.taken();
  assertEquals(seen(open, back), [235, 128]);
});

testOfLateEnds("a view of what came back that was moved away holds nothing up", async () => {
  const { length } = await warningsOf(async () => {
    using open = new Open();
    const frame = picture(6);
    await using chain = new Chain(open, "identity");
    const mapped = lentTo(open, frame);
    await chain.write(mapped);
    {
      using back = await chain.taken();
      using inHost = open.map(back);
      const moved = inHost.planes[0].bytes({ access: "read" }).buffer.transfer();
      assertEquals(new Uint8Array(moved)[0], 6);
    }
    await chain.pipeline.stop();
    await mapped[Symbol.asyncDispose]();
    await frame[Symbol.asyncDispose]();
  });
  assertEquals(length, 1); // its memory is kept for good
}, { quarantined: 32 * 24 });

test("what comes back is FFmpeg's and a kernel's, in place, while the loan runs", async () => {
  using open = new Open();
  using ffmpeg = FFmpegContext.open();
  using cl = HERE.includes("pocl") ? OpenCLContext.open() : undefined;
  using graph = new MapperGraph([host, open.gst, ffmpeg, ...cl === undefined ? [] : [cl]]);
  await using frame = picture(4);
  await using chain = new Chain(open, "identity");
  await using mapped = lentTo(open, frame);
  await chain.write(mapped);
  {
    await using back = await chain.taken();
    for (const target of [ffmpeg, ...cl === undefined ? [] : [cl]]) {
      await using there = graph.map(back, target, { access: "read" });
      await using here = graph.map(frame, target, { access: "read" });
      assertEquals([there.route!.bytesMoved, here.route!.bytesMoved], [0, 0]);
    }
  }
  await chain.pipeline.stop();
});

test("twenty chains of writes and ends at random leave the bytes as a list of loans says", async () => {
  let seed = 41;
  const below = (n: number) => (seed = Math.imul(seed, 1103515245) + 12345 >>> 0) % 65536 % n;
  using open = new Open();
  for (let run = 0; run < 20; run++) {
    await using chain = new Chain(open, ["identity", "queue"][below(2)]);
    const frames = Array.from(
      { length: 3 },
      (_, i) => ({ frame: [picture, apart][below(2)](i), backs: [] as Frame[], ends: [] as Promise<void>[] }),
    );
    for (let step = 0; step < 12; step++) {
      const one = frames[below(3)];
      if (below(2) === 0 || one.backs.length === 0) {
        one.ends.push((await written(open, chain, one.frame)).ended);
        one.backs.push(await chain.taken());
      } else one.backs.splice(below(one.backs.length), 1)[0][Symbol.dispose]();
      for (const [i, { backs }] of frames.entries()) for (const back of backs) assertEquals(seen(open, back), [i, i]);
    }
    await chain.pipeline.stop();
    for (const { frame, backs, ends } of frames) {
      if (backs.length > 0) assertThrows(() => frame.planes[0].bytes(), AccessError);
      for (const back of backs) back[Symbol.dispose]();
      await Promise.all(ends);
      frame.planes[0].bytes().fill(1);
      await frame[Symbol.asyncDispose]();
    }
  }
});
