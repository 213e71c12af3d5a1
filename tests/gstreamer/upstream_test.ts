/** Elements of GStreamer that write into memory of ours: who does, from which frame on, and what ends when. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { host, type HostTensor, ledger } from "@samepage/interop";
import type { FrameMemory } from "@samepage/interop/ffmpeg";
import { assertAlive } from "../alive.ts";
import { bytesAt } from "../conformance/bytes.ts";
import { type Address, NULL } from "../../ffi/address.ts";
import * as c from "../../ffi/gstreamer/constants.ts";
import {
  GstAllocationParams,
  GstMemory,
  readGstMemory,
  writeGstAllocationParams,
} from "../../ffi/gstreamer/structs.ts";
import { viewAt } from "../../src/core/native/pin.ts";
import { cString } from "../../src/core/native/text.ts";
import { gst } from "../../src/gstreamer/library.ts";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { testOfLateEnds as test } from "./open.ts";
import { compileHere } from "./compiled.ts";
import { mapped, Pipeline } from "./upstream.ts";

const SINK = " ! appsink name=out sync=false max-buffers=2";
const PICTURES =
  "videotestsrc pattern=ball num-buffers=12 ! video/x-raw,format=I420,width=320,height=240,framerate=30/1";

/** Memory of the host's, and where it is. */
class Counted implements FrameMemory<HostTensor> {
  readonly blocks: HostTensor[] = [];

  allocate(layout: Parameters<FrameMemory["allocate"]>[0]): HostTensor {
    const tensor = host.allocate(layout as { shape: [number]; dtype: "u8" });
    this.blocks.push(tensor);
    return tensor;
  }

  has(address: bigint): boolean {
    return this.blocks.some(({ address: start, byteLength }) =>
      start <= address && address < start + BigInt(byteLength)
    );
  }
}

interface Seen {
  readonly isOurs: boolean;
  readonly sum: number;
}

/** What comes of a pipeline: whether each frame lies in memory of ours, and a sum over its bytes. */
async function framesOf(description: string, init: ConstructorParameters<typeof Pipeline>[1]): Promise<Seen[]> {
  const memory = new Counted();
  await using pipeline = new Pipeline(description + SINK, { memory: memory as FrameMemory, ...init });
  await pipeline.play();
  const seen: Seen[] = [];
  for (let buffer = await pipeline.pull(); buffer !== NULL; buffer = await pipeline.pull()) {
    const { address, byteLength } = mapped(buffer);
    let sum = 0;
    for (const byte of bytesAt(address, byteLength)) sum = (Math.imul(sum, 31) + byte) | 0;
    seen.push({ isOurs: memory.has(address), sum });
    gst().gst_mini_object_unref(buffer);
  }
  return seen;
}

/** How many frames of 12 lie in memory of ours: with machine code, and without it at least. */
const ELEMENTS: Record<string, readonly [written: number, adopted: number]> = {
  "videotestsrc": [12, 10],
  "videotestsrc ! queue": [12, 0],
  "videotestsrc ! identity": [12, 10],
  "videotestsrc ! queue ! identity ! videoconvert ! video/x-raw,format=RGB": [12, 10],
  "videotestsrc ! videoscale ! video/x-raw,width=160,height=120": [12, 10],
  "videotestsrc ! tee ! queue": [0, 0],
  "theoraenc ! theoradec": [12, 10],
  "x264enc tune=zerolatency ! avdec_h264": [12, 10],
  "jpegenc ! jpegdec": [12, 10],
  "vp8enc ! vp8dec": [12, 10],
};

for (const [elements, [written, adopted]] of Object.entries(ELEMENTS)) {
  test(`UpstreamPool: ${elements} writes ${written} of 12 frames into memory of ours`, async () => {
    using _ = await GStreamerContext.open();
    const description = `${PICTURES} ! ${elements.replace(/^videotestsrc( ! )?/, "") || "identity"}`;
    const offered = await framesOf(description, {});
    const given = await framesOf(description, { machineCode: false });
    assertEquals(offered.length, 12);
    assertEquals(given.map(({ sum }) => sum), offered.map(({ sum }) => sum), "the same pictures");
    assertEquals(offered.filter(({ isOurs }) => isOurs).length, written);
    assert(given.filter(({ isOurs }) => isOurs).length >= adopted, JSON.stringify(given));
  });
}

test("UpstreamPool leaves sound in GStreamer's memory, and allocates nothing for it", async () => {
  using _ = await GStreamerContext.open();
  for (const machineCode of [true, false]) {
    const seen = await framesOf("audiotestsrc num-buffers=5 ! audioconvert", { machineCode });
    assertEquals(seen.map(({ isOurs }) => isOurs), Array(5).fill(false));
  }
});

test("UpstreamPool without a free slot has elements go on in GStreamer's memory, and recycles the slots", async () => {
  using _ = await GStreamerContext.open();
  const memory = new Counted();
  const init = { memory: memory as FrameMemory, slots: 4 };
  await using pipeline = new Pipeline(PICTURES.replace("=12", "=40") + SINK, init);
  assert(await pipeline.play());
  const held: Address[] = [];
  for (let i = 0; i < 10; i++) held.push(await pipeline.pull());
  const ours = () => held.map((buffer) => memory.has(mapped(buffer).address)).filter((isOurs) => isOurs).length;
  assertEquals([memory.blocks.length, ours()], [4, 4]);
  for (const buffer of held.splice(0)) gst().gst_mini_object_unref(buffer);
  for (let i = 0; i < 20; i++) {
    const buffer = await pipeline.pull();
    held.push(buffer);
    assert(ours() <= 4);
    gst().gst_mini_object_unref(held.pop()!);
  }
});

test("UpstreamPool gives its slots to the next pool once the pipeline has stopped and plays again", async () => {
  using _ = await GStreamerContext.open();
  const memory = new Counted();
  await using pipeline = new Pipeline("videotestsrc ! video/x-raw,width=64,height=48" + SINK, {
    memory: memory as FrameMemory,
    slots: 6,
  });
  await pipeline.play();
  for (let turn = 0; turn < 3; turn++) {
    for (let i = 0; i < 12; i++) {
      const buffer = await pipeline.pull();
      assert(memory.has(mapped(buffer).address), `frame ${i} of turn ${turn}`);
      gst().gst_mini_object_unref(buffer);
    }
    pipeline.set(c.GST_STATE_NULL);
    pipeline.set(c.GST_STATE_PLAYING);
  }
});

test("UpstreamPool is not an obstacle where a pipeline stops while its elements wait", async () => {
  using _ = await GStreamerContext.open();
  for (const isMade of [false, true]) {
    await using pipeline = new Pipeline(PICTURES + SINK);
    pipeline.set(c.GST_STATE_PLAYING);
    while (!pipeline.pool.isAwaited) await new Promise((resolve) => setTimeout(resolve, 1));
    if (isMade) pipeline.pool.make();
  }
});

test("UpstreamPool keeps its memory for buffers that outlive the pipeline", async () => {
  const before = ledger.alive;
  using _ = await GStreamerContext.open();
  let buffer = NULL;
  {
    await using pipeline = new Pipeline(PICTURES + SINK, { slots: 5 });
    await pipeline.play();
    buffer = await pipeline.pull();
  }
  assertEquals(ledger.alive["host.block"], 5);
  assert(bytesAt(mapped(buffer).address, 16).some((byte) => byte !== 0));
  gst().gst_mini_object_unref(buffer);
  await assertAlive({ ...before }, "after the last buffer");
});

test("make() throws for memory that cannot be written to, and the elements go on without it", async () => {
  using _ = await GStreamerContext.open();
  const wrong: [unknown, string, string][] = [
    [{ allocate: () => 7 }, "ArgumentError", "into: expected memory whose allocate() returns a Tensor"],
    [{ allocate: () => host.allocate({ shape: [8], dtype: "u8" }) }, "LayoutError", "into: host"],
    [
      {
        allocate: () => {
          throw new RangeError("no more");
        },
      },
      "RangeError",
      "no more",
    ],
  ];
  for (const [memory, name, message] of wrong) {
    await using pipeline = new Pipeline(PICTURES + SINK, { memory: memory as FrameMemory });
    pipeline.set(c.GST_STATE_PLAYING);
    while (!pipeline.pool.isAwaited) await new Promise((resolve) => setTimeout(resolve, 1));
    const error = assertThrows(() => pipeline.pool.make(), Error, message);
    assertEquals(error.constructor.name, name);
    const buffer = await pipeline.pull();
    assert(buffer !== NULL);
    gst().gst_mini_object_unref(buffer);
  }
});

const RAW = {
  gst_event_new_stream_start: { parameters: ["buffer"], result: "u64" },
  gst_event_new_caps: { parameters: ["u64"], result: "u64" },
  gst_query_new_allocation: { parameters: ["u64", "i32"], result: "u64" },
  gst_pad_query: { parameters: ["u64", "u64"], result: "i32", nonblocking: true },
  gst_query_parse_nth_allocation_param: { parameters: ["u64", "u32", "buffer", "buffer"], result: "void" },
  gst_allocator_alloc: { parameters: ["u64", "u64", "buffer"], result: "u64" },
} as const;

/** A pool of three slots of 4,096 bytes, and the allocator that it offers. */
async function offered(use: (allocator: Address) => unknown): Promise<void> {
  using _ = await GStreamerContext.open();
  const { symbols } = Deno.dlopen("libgstreamer-1.0.so.0", RAW);
  await using pipeline = new Pipeline("pipeline.( appsink name=out )", { slots: 3 });
  const pad = gst().gst_element_get_static_pad(pipeline.sink, cString("sink"));
  const caps = gst().gst_caps_from_string(cString("video/x-raw,format=GRAY8,width=256,height=16,framerate=1/1"));
  pipeline.set(c.GST_STATE_PAUSED);
  gst().gst_pad_send_event(pad, symbols.gst_event_new_stream_start(cString("a")) as Address);
  gst().gst_pad_send_event(pad, symbols.gst_event_new_caps(caps) as Address);
  const query = symbols.gst_query_new_allocation(caps, 1) as Address;
  const asked = symbols.gst_pad_query(pad, query);
  while (!pipeline.pool.isAwaited) await new Promise((resolve) => setTimeout(resolve, 1));
  pipeline.pool.make();
  assertEquals(await asked, 1);
  const found = new BigUint64Array(1);
  symbols.gst_query_parse_nth_allocation_param(query, 0, found, null);
  try {
    await use(found[0] as Address);
  } finally {
    gst().gst_object_unref(found[0] as Address);
    gst().gst_mini_object_unref(query);
    gst().gst_mini_object_unref(caps);
    gst().gst_object_unref(pad);
  }
}

test("the allocator of an UpstreamPool hands out what fits, whole each time, and no slot twice", () =>
  offered((allocator) => {
    /** What it hands out for a size, and parameters. */
    const alloc = (size: number, params: Partial<GstAllocationParams> = {}) => {
      const bytes = new Uint8Array(GstAllocationParams.size);
      const none = { flags: 0, align: 0n, prefix: 0n, padding: 0n };
      writeGstAllocationParams(new DataView(bytes.buffer), 0, { ...none, ...params });
      const made = symbols.gst_allocator_alloc(allocator, BigInt(size), bytes) as Address;
      return { made, isOurs: handles.has(made) };
    };
    const { symbols } = Deno.dlopen("libgstreamer-1.0.so.0", RAW);
    const handles = new Set<Address>();
    const first = [4096, 1, 0].map((size) => alloc(size).made);
    for (const made of first) handles.add(made);
    assertEquals(handles.size, 3, "three slots");
    assertEquals(first.map((made) => readGstMemory(viewAt(made, GstMemory.size, "test"), 0).size), [4096n, 1n, 0n]);
    const isOurs = (size: number, params?: Partial<GstAllocationParams>) => {
      const { made, isOurs } = alloc(size, params);
      if (made !== NULL) gst().gst_mini_object_unref(made);
      return isOurs;
    };
    assert(!isOurs(16), "none is free");
    for (const made of first) gst().gst_mini_object_unref(made);
    assert(isOurs(4096, { align: 63n }));
    assert(isOurs(4000, { padding: 96n }));
    assert(!isOurs(4097), "larger than a slot");
    assert(!isOurs(4000, { padding: 97n }), "with its padding larger");
    assert(!isOurs(16, { prefix: 8n }), "with something before it");
    assert(!isOurs(16, { align: 127n }), "aligned to more");

    const cut = alloc(4096).made;
    gst().gst_memory_resize(cut, 16n, 32n);
    gst().gst_mini_object_unref(cut);
    const whole = alloc(4096).made;
    assertEquals(whole, cut);
    const { offset, size } = readGstMemory(viewAt(whole, GstMemory.size, "test"), 0);
    assertEquals([offset, size], [0n, 4096n], "whole again");
    gst().gst_mini_object_unref(whole);
  }));

test("the allocator of an UpstreamPool hands no slot to two threads at a time", () =>
  offered(async (allocator) => {
    const path = await compileHere("hammer.cpp");
    const { symbols } = Deno.dlopen(path, {
      hammer: { parameters: ["u64", "i32", "i32"], result: "i32", nonblocking: true },
    });
    assertEquals(await symbols.hammer(allocator, 6, 100_000), 0);
  }));
