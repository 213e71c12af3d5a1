// Memory of samepage's as AVFrames, which FFmpeg keeps for as long as it likes.

import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  Frame,
  type FrameInfo,
  host,
  imageInfo,
  layout,
  LayoutError,
  ledger,
} from "@samepage/interop";
import { withMoment } from "../../src/core/layout/frame_info.ts";
import { fieldsAt } from "../../src/ffmpeg/fields.ts";
import { describe } from "../../src/ffmpeg/frame.ts";
import type { Address } from "../../ffi/address.ts";
import { collect } from "../gc.ts";
import { CFrame, inC } from "./frames.ts";
import { testOpen } from "./open.ts";

const NV12 = imageInfo({ format: "NV12", width: 32, height: 16 });

/** Is a promise still open after some milliseconds? */
async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const later = new Promise((resolve) => setTimeout(() => resolve("later"), 20));
  return await Promise.race([promise, later]) === "later";
}

testOpen("FFmpeg reads the bytes of a host's frame in place", async ({ ffmpeg, graph }) => {
  using picture = host.allocateFrame(NV12, { rowAlign: 64 });
  picture.planes[0].bytes().fill(7);
  picture.planes[1].bytes()[64 + 2 * 3 + 1] = 9;
  await using mapped = graph.map(picture, ffmpeg, { access: "read" });
  assertEquals([mapped.route!.bytesMoved, mapped.route!.steps[0].transfer], [0, "alias"]);
  using lent = new CFrame(ffmpeg.avFrame(mapped));
  assertEquals([inC().pixel(lent.pointer, 0, 31, 15), inC().pixel(lent.pointer, 2, 3, 1)], [7, 9]);
  assertEquals([0, 1].map((p) => inC().plane_of(lent.pointer, p)), picture.planes.map(({ address }) => address));
  assertEquals([0, 1].map((p) => inC().linesize_of(lent.pointer, p)), [64, 64]);
  assertEquals([lent.references, inC().is_writable(lent.pointer)], [1, 0]);
});

testOpen("the end of a frame waits for FFmpeg's last reference", async ({ ffmpeg, graph }) => {
  using picture = host.allocateFrame(NV12);
  const mapped = graph.map(picture, ffmpeg, { access: "read" });
  const lent = new CFrame(ffmpeg.avFrame(mapped));
  const kept = lent.clone();
  lent[Symbol.dispose]();
  const ended = mapped[Symbol.asyncDispose]();
  assert(await isPending(ended));
  assertThrows(() => picture.planes[0].bytes({ access: "write" }), AccessError);
  kept[Symbol.dispose]();
  await ended;
  picture.planes[0].bytes({ access: "write" }).fill(1);
});

testOpen("a map for reading does not wait while FFmpeg reads, and one beside FFmpeg's writes does", async (open) => {
  const { ffmpeg, graph } = open;
  using picture = host.allocateFrame(NV12, { rowAlign: 64 });
  picture.planes[0].bytes().fill(7);
  for (const access of ["read", "read-write"] as const) {
    await using mapped = graph.map(picture, ffmpeg, { access });
    using lent = new CFrame(ffmpeg.avFrame(mapped));
    const [step] = graph.explain(mapped, host, { access: "read" }).steps;
    assertEquals([step.transfer, step.hostWait], ["alias", access !== "read"]);
    if (step.hostWait) continue; // such a map would wait for this thread
    using beside = graph.map(mapped, host, { access: "read" });
    assertEquals([beside.planes[0].bytes()[0], inC().pixel(lent.pointer, 0, 0, 0)], [7, 7]);
  }
});

testOpen(
  "a reference that a thread of FFmpeg's gives back ends the wait, also one that blocks",
  ({ ffmpeg, graph }) => {
    using picture = host.allocateFrame(NV12);
    const mapped = graph.map(picture, ffmpeg);
    const before = performance.now();
    inC().freed_later(ffmpeg.avFrame(mapped));
    mapped[Symbol.dispose]();
    assert(performance.now() - before > 5);
  },
);

testOpen(
  "FFmpeg writes a frame that may be written, and that is seen once it is given back",
  async ({ ffmpeg, graph }) => {
    using picture = host.allocateFrame(NV12);
    {
      await using mapped = graph.map(picture, ffmpeg, { access: "write" });
      using lent = new CFrame(ffmpeg.avFrame(mapped));
      assertEquals(inC().is_writable(lent.pointer), 1);
      inC().put(lent.pointer, 1, 33, 5);
    }
    assertEquals(picture.planes[1].bytes()[33], 5);
  },
);

for (const access of ["read", "read-write"] as const) {
  testOpen(`a frame for "${access}" may be handed over twice, and ends after both`, async ({ ffmpeg, graph }) => {
    using picture = host.allocateFrame(NV12);
    const mapped = graph.map(picture, ffmpeg, { access });
    const [one, two] = [0, 1].map(() => new CFrame(ffmpeg.avFrame(mapped)));
    const ended = mapped[Symbol.asyncDispose]();
    two[Symbol.dispose]();
    assert(await isPending(ended));
    one[Symbol.dispose]();
    await ended;
  });
}

testOpen("a frame with work in flight is not handed over before that is over", async (open) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  using made = CFrame.picture("nv12", 32, 16);
  await using frame = open.attach(made);
  frame.planes[1].resource.usedBy(host.signal(promise));
  try {
    assertThrows(() => new CFrame(open.ffmpeg.avFrame(frame))[Symbol.dispose](), AccessError);
  } finally {
    resolve();
  }
  await promise;
  using lent = new CFrame(open.ffmpeg.avFrame(frame));
  assertEquals(lent.references, 1);
});

testOpen("planes of one block lie in its buffer in any order", async ({ ffmpeg, graph }) => {
  using block = host.allocate({ shape: [3 * 256], dtype: "u8" });
  const [chroma, luma] = [
    block.slice(layout({ shape: [8, 16, 2], dtype: "u8" })),
    block.slice(layout({ shape: [16, 32], dtype: "u8", byteOffset: 256 })),
  ];
  using picture = Frame.of([luma, chroma], NV12);
  await using mapped = graph.map(picture, ffmpeg, { access: "read" });
  using lent = new CFrame(ffmpeg.avFrame(mapped));
  const { planes } = describe(fieldsAt(lent.pointer as Address));
  assertEquals(planes.map(({ layout: { byteOffset } }) => byteOffset), [256, 0]);
});

testOpen("a frame that is handed over again and again keeps nothing of what FFmpeg gave back", async (open) => {
  using picture = host.allocateFrame(NV12);
  await using mapped = open.graph.map(picture, open.ffmpeg, { access: "read" });
  const heap = async (times: number) => {
    for (let i = 0; i < times; i++) inC().freed(open.ffmpeg.avFrame(mapped));
    await collect();
    return Deno.memoryUsage().heapUsed;
  };
  const before = await heap(2000);
  const kept = (await heap(5000) - before) / 5000;
  assert(kept < 100, `${kept} bytes for each AVFrame`);
});

testOpen("planes in memory of their own have a buffer each", async ({ ffmpeg, graph }) => {
  const planes = [[16, 32], [8, 16, 2]].map((shape) => host.allocate({ shape, dtype: "u8" }));
  using picture = Frame.of(planes, NV12);
  await using mapped = graph.map(picture, ffmpeg, { access: "read" });
  using lent = new CFrame(ffmpeg.avFrame(mapped));
  assertEquals([0, 1].map((p) => inC().plane_of(lent.pointer, p)), planes.map(({ address }) => address));
});

testOpen("FFmpeg's own frames can be handed to FFmpeg again", async (open) => {
  using made = CFrame.scattered("yuv420p", 16, 8);
  inC().set_key(made.pointer, 1);
  await using frame = open.attach(made, { access: "read" });
  using lent = new CFrame(open.ffmpeg.avFrame(frame));
  assertEquals(inC().is_key(lent.pointer), 1);
  for (let c = 0; c < 3; c++) assertEquals(inC().pixel(lent.pointer, c, 3, 2), inC().pixel(made.pointer, c, 3, 2));
});

testOpen("what was handed over is not attached again", async ({ ffmpeg, graph }) => {
  using picture = host.allocateFrame(NV12);
  await using mapped = graph.map(picture, ffmpeg);
  using lent = new CFrame(ffmpeg.avFrame(mapped));
  assertThrows(() => ffmpeg.attach(lent.pointer), ArgumentError, "over a tensor's memory");
});

testOpen("FFmpeg's own frame is attached again while another frame over it is handed over", async (open) => {
  using made = CFrame.picture("gray", 16, 8);
  await using frame = open.attach(made, { access: "read" });
  using lent = new CFrame(open.ffmpeg.avFrame(frame));
  using again = open.attach(made);
  assertEquals(again.access, "read");
  assertThrows(() => open.attach(lent), ArgumentError, "over a tensor's memory");
});

/** Formats whose description samepage reads from FFmpeg and hands back unchanged. */
const ROUND_TRIPS = [
  "yuv420p",
  "yuvj420p",
  "gray",
  "yuv422p10le",
  "gbrpf32le",
  "rgb565le",
  "yuyv422",
  "bayer_rggb8",
  "ya8",
];

for (const format of ROUND_TRIPS) {
  testOpen(`${format}: FFmpeg gets the description of a frame that it gave`, async (open) => {
    using made = CFrame.picture(format, 15, 7);
    inC().set_facts(made.pointer);
    await using frame = open.attach(made);
    using lent = new CFrame(open.ffmpeg.avFrame(frame));
    const { info, moment, planes } = describe(fieldsAt(lent.pointer as Address));
    assertEquals(withMoment(info, moment), frame.info);
    assertEquals(
      planes.map(({ layout: { shape, strides } }) => [shape, strides]),
      frame.planes.map(({ layout }) => [layout.shape, layout.strides]),
    );
  });
}

for (const format of [1, 3, 6, 11]) {
  testOpen(`sound of the sample format ${format}: FFmpeg gets the description that it gave`, async (open) => {
    using made = CFrame.sound(format, 2, 7);
    await using frame = open.attach(made);
    using lent = new CFrame(open.ffmpeg.avFrame(frame));
    const { info, moment } = describe(fieldsAt(lent.pointer as Address));
    assertEquals(withMoment(info, moment), frame.info);
  });
}

/** Frames that FFmpeg cannot have, and why. */
const REFUSED: readonly (readonly [name: string, info: FrameInfo, words: string])[] = [
  ["YV12", imageInfo({ format: "YV12", width: 4, height: 4 }), "no format YV12"],
  [
    "unsigned sound",
    { type: "audio", format: "u32", sampleRate: 8000, channels: 1, samples: 4, layout: "planar" },
    "no sound",
  ],
  [
    "nine planes",
    { type: "audio", format: "f32", sampleRate: 8000, channels: 9, samples: 4, layout: "planar" },
    "at most 8",
  ],
  [
    "another yuv422p10le",
    {
      ...{ type: "picture", format: "yuv422p10le", width: 4, height: 4 },
      planes: [{ dtype: "u8", elements: 1, step: 1, rows: 1 }],
    },
    "not those of FFmpeg's yuv422p10le",
  ],
  [
    "a format without a name in FFmpeg",
    { type: "picture", format: "mine", width: 4, height: 4, planes: [{ dtype: "u8", elements: 1, step: 1, rows: 1 }] },
    "no format mine",
  ],
];

for (const [name, info, words] of REFUSED) {
  testOpen(`refused: ${name}`, ({ ffmpeg, graph }) => {
    using picture = host.allocateFrame(info);
    using mapped = graph.map(picture, ffmpeg);
    assertThrows(() => ffmpeg.avFrame(mapped), ArgumentError, words);
    assertEquals(ledger.alive["native.flag"] ?? 0, 0);
  });
}

testOpen("refused: gaps within rows", ({ ffmpeg, graph }) => {
  using wide = host.allocate({ shape: [4, 8], dtype: "u8" });
  using every = wide.slice(layout({ shape: [4, 4], dtype: "u8", strides: [8, 2] }));
  using picture = Frame.of([every], imageInfo({ format: "GRAY8", width: 4, height: 4 }));
  using mapped = graph.map(picture, ffmpeg);
  assertThrows(() => ffmpeg.avFrame(mapped), LayoutError, "gaps within the rows");
});

testOpen("a frame that is lent to the host is not handed over for writing", async (open) => {
  using picture = host.allocateFrame(NV12);
  await using mapped = open.graph.map(picture, open.ffmpeg);
  using child = open.graph.map(mapped, host, { access: "read" });
  assertThrows(() => open.ffmpeg.avFrame(mapped), AccessError);
  void child;
});
