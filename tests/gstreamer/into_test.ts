/** `pipeline.sink(name, { into })`: frames that elements have written into memory of the program's. */
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AccessError,
  host,
  type HostTensor,
  type ImageInfo,
  InteropError,
  ledger,
  MapperGraph,
} from "@samepage/interop";
import { type FrameMemory, GStreamerContext, type SinkOptions } from "@samepage/interop/gstreamer";
import { cString } from "../../src/core/native/text.ts";
import { gst as native } from "../../src/gstreamer/library.ts";
import { HERE, open as openOpenCL } from "../opencl/help.ts";
import { testOfLateEnds } from "./open.ts";

const PICTURES = "videotestsrc pattern=ball num-buffers=12 ! video/x-raw,format=NV12,width=320,height=240";
const SINK = " ! appsink name=out sync=false";

function test(name: string, fn: (gst: GStreamerContext) => Promise<void>): void {
  testOfLateEnds(`sink into: ${name}`, async () => {
    using gst = await GStreamerContext.open();
    await fn(gst);
  });
}

/** For each frame, whether it is the host's, and a sum over its pixels. */
async function framesOf(gst: GStreamerContext, description: string, options: SinkOptions) {
  await using pipeline = gst.launch(description + SINK);
  const seen: { readonly isOurs: boolean; readonly sum: number }[] = [];
  for await (using frame of pipeline.sink("out", options)) {
    const isOurs = frame.target === host;
    assertEquals(frame.target === host || frame.target === gst, true);
    assertEquals(frame.route?.bytesMoved ?? 0, 0);
    using graph = new MapperGraph([host, gst]);
    using mapped = isOurs ? undefined : graph.map(frame, host, { access: "read" });
    let sum = 0;
    for (const plane of (mapped ?? frame).planes as readonly HostTensor[]) {
      for (const byte of plane.bytes({ access: "read" })) sum = (Math.imul(sum, 31) + byte) | 0;
    }
    seen.push({ isOurs, sum });
  }
  return seen;
}

test("frames are the host's from the first one on, with the pixels that they have without", async (gst) => {
  const theirs = await framesOf(gst, PICTURES, {});
  const ours = await framesOf(gst, PICTURES, { into: host });
  assertEquals(ours.map(({ isOurs }) => isOurs), Array(12).fill(true));
  assertEquals(theirs.map(({ isOurs }) => isOurs), Array(12).fill(false));
  assertEquals(ours.map(({ sum }) => sum), theirs.map(({ sum }) => sum));
});

test("without machine code, most frames are the host's", async (gst) => {
  const ours = await framesOf(gst, PICTURES, { into: host, machineCode: false });
  assertEquals(ours.length, 12);
  assert(ours.filter(({ isOurs }) => isOurs).length >= 8, JSON.stringify(ours));
});

test("without machine code, the pipeline may be asked to play while a loop waits for the first frame", async (gst) => {
  await using pipeline = gst.launch(`${PICTURES} ! appsink name=out sync=false`);
  const frames = Array.fromAsync(pipeline.sink("out", { into: host, machineCode: false }));
  const ended = pipeline.ended();
  for (const frame of await frames) frame[Symbol.dispose]();
  assertEquals((await frames).length, 12);
  assertEquals(await ended, true);
});

test("play() has the buffers made, too, as do two sinks of one pipeline", async (gst) => {
  const branch = (name: string) => `${PICTURES} ! appsink name=${name} sync=false `;
  await using pipeline = gst.launch(branch("a") + branch("b"));
  const sinks = ["a", "b"].map((name) => pipeline.sink(name, { into: host, slots: 8 }));
  await pipeline.play();
  for (const sink of sinks) {
    let count = 0;
    for await (using frame of sink) {
      assertEquals(frame.target, host);
      count++;
    }
    assertEquals(count, 12);
  }
});

test("a frame that no slot was left for, or that a tee has lost, is GStreamer's, and names the element", async (gst) => {
  const other = { allocate: (layout: Parameters<FrameMemory["allocate"]>[0]) => host.allocate(layout as never) };
  await using pipeline = gst.launch(PICTURES + SINK);
  await using frames = new AsyncDisposableStack();
  const targets: unknown[] = [];
  for await (const frame of pipeline.sink("out", { into: other, slots: 3 })) targets.push(frames.use(frame).target);
  assertEquals(targets.filter((target) => target === host).length, 3);
  assertEquals(targets.length, 12);

  await using forked = gst.launch(`${PICTURES} ! tee name=fork ! queue name=waiting${SINK}`);
  for await (using frame of forked.sink("out", { into: host })) {
    assertEquals(frame.target, gst);
    assertStringIncludes(frame.name, "of waiting");
  }
});

test("sound, and what asks for no memory, are GStreamer's", async (gst) => {
  assertEquals(
    (await framesOf(gst, "audiotestsrc num-buffers=4 ! audio/x-raw,format=S16LE", { into: host })).map(({ isOurs }) =>
      isOurs
    ),
    Array(4).fill(false),
  );
});

test("frames outlive the pipeline, and hold its memory", async (gst) => {
  const before = ledger.alive["host.block"] ?? 0;
  const frames = [];
  {
    await using pipeline = gst.launch(PICTURES + SINK);
    for await (const frame of pipeline.sink("out", { into: host, slots: 6 })) {
      if (frames.push(frame) === 2) break;
    }
  }
  assertEquals(ledger.alive["host.block"], before + 6);
  for (const frame of frames) {
    assert((frame.planes[0] as HostTensor).bytes({ access: "read" }).some((byte) => byte !== 0));
    frame[Symbol.dispose]();
  }
});

test("memory that elements write to is refused to all other uses", async (gst) => {
  const blocks: HostTensor[] = [];
  const into = {
    allocate(layout: Parameters<FrameMemory["allocate"]>[0]) {
      blocks.push(host.allocate(layout as { shape: [number]; dtype: "u8" }));
      return blocks.at(-1)!;
    },
  };
  await using pipeline = gst.launch(PICTURES + SINK);
  for await (using _ of pipeline.sink("out", { into })) {
    for (const block of blocks) assertThrows(() => block.bytes({ access: "read" }), AccessError, "lent");
  }
  assertEquals(blocks.length, 24);
});

test("memory that fails ends the loop with its error, and the pipeline can be stopped", async (gst) => {
  await using pipeline = gst.launch(PICTURES + SINK);
  const into = {
    allocate: () => {
      throw new RangeError("no more");
    },
  };
  await assertRejects(
    async () => {
      for await (using _ of pipeline.sink("out", { into })) assert(false);
    },
    RangeError,
    "no more",
  );
});

test("a pipeline that is disposed while its elements wait ends at once", async (gst) => {
  for (const blocking of [true, false]) {
    const pipeline = gst.launch(PICTURES + SINK);
    pipeline.sink("out", { into: host });
    const playing = pipeline.play().catch((error) => error);
    if (blocking) pipeline[Symbol.dispose]();
    else await pipeline[Symbol.asyncDispose]();
    assert(await playing instanceof Error);
  }
});

test("into is for a sink that has not begun, once", async (gst) => {
  await using pipeline = gst.launch(PICTURES + SINK);
  pipeline.sink("out", { into: host });
  assertThrows(() => pipeline.sink("out", { into: host }), InteropError, "This sink has memory to write to");
  await using begun = gst.launch(PICTURES + SINK);
  for await (using _ of begun.sink("out")) break;
  assertThrows(() => begun.sink("out", { into: host }), InteropError, "The pipeline has begun");
});

test("frames lie in memory that has an fd, or that OpenCL shares", async (gst) => {
  const own = (sharable: boolean): FrameMemory => ({
    allocate: (layout) => host.allocate({ ...layout as { shape: [number]; dtype: "u8" }, sharable }),
  });
  for (const sharable of [true, false]) {
    await using pipeline = gst.launch(PICTURES + SINK);
    let ours = 0;
    for await (using frame of pipeline.sink("out", { into: own(sharable), slots: 6 })) {
      ours += Number(frame.target === host);
      if (!HERE.includes("pocl")) continue;
      using cl = openOpenCL("pocl");
      using graph = new MapperGraph([host, cl]);
      using onDevice = graph.map(frame, cl, { access: "read" });
      assertEquals(onDevice.route!.bytesMoved, 0);
    }
    assertEquals(ours, 12);
  }
});

test("a stream that grows goes on in GStreamer's memory", async (gst) => {
  const caps = (width: number) => `video/x-raw,format=GRAY8,width=${width},height=16,framerate=30/1`;
  await using pipeline = gst.launch(
    `videotestsrc ! capsfilter name=size caps=${caps(32)} ! appsink name=out sync=false`,
  );
  const size = native().gst_bin_get_by_name(pipeline.handle, cString("size"));
  const seen = new Map<string, boolean>();
  let count = 0;
  for await (using frame of pipeline.sink("out", { into: host, slots: 8 })) {
    const { width } = frame.info as ImageInfo;
    seen.set(`${width} ${frame.target === host}`, true);
    if (++count === 5) native().gst_util_set_object_arg(size, cString("caps"), cString(caps(64)));
    if (seen.size === 2) break;
  }
  native().gst_object_unref(size);
  assertEquals([...seen.keys()], ["32 true", "64 false"]);
});
