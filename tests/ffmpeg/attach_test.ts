// AVFrames that FFmpeg has made, as frames of samepage's: the same bytes, references that add up, and what is refused.

import { assert, assertEquals, assertNotEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  type AudioInfo,
  DisposedError,
  type Frame,
  host,
  type ImageInfo,
  type InteropError,
  LayoutError,
} from "@samepage/interop";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import type { AVUtil } from "../../ffi/avutil57/functions.ts";
import type { Address } from "../../ffi/address.ts";
import { fieldsAt } from "../../src/ffmpeg/fields.ts";
import { avutil } from "../../src/ffmpeg/library.ts";
import { runModule } from "../process.ts";
import { warningsOf } from "../warnings.ts";
import { CFrame, cText, inC } from "./frames.ts";
import { elementOf, Open, test, testOpen, value } from "./open.ts";

testOpen("a write through the host's map is what FFmpeg reads, and no byte moves", (open) => {
  using made = CFrame.picture("yuv420p", 16, 8);
  using frame = open.attach(made);
  const { format, width, height } = frame.info as ImageInfo;
  assertEquals([format, width, height, frame.access], ["I420", 16, 8, "read-write"]);
  using mapped = open.map(frame, "read-write");
  assertEquals(elementOf(mapped, 2, 3, 5), value("yuv420p", 2, 5, 3));
  const { layout: { strides: [row] } } = mapped.planes[1];
  mapped.planes[1].bytes()[2 * row + 4] = 77;
  assertEquals(inC().pixel(made.pointer, 1, 4, 2), 77);
  assertEquals(mapped.planes.map(({ address }) => address), [0, 1, 2].map((p) => inC().plane_of(made.pointer, p)));
});

testOpen("a frame holds one reference, and gives it back", (open) => {
  using made = CFrame.picture("nv12", 16, 8);
  assertEquals(made.references, 1);
  const frame = open.attach(made);
  assertEquals([made.references, inC().is_writable(made.pointer)], [2, 0]);
  assertEquals(inC().plane_of(frame.handle, 1), inC().plane_of(made.pointer, 1));
  assertNotEquals(frame.handle, made.pointer);
  frame[Symbol.dispose]();
  assertEquals(made.references, 1);
});

testOpen("an AVFrame that is attached again and again gives each reference back, while one frame lives", (open) => {
  using made = CFrame.picture("nv12", 16, 8);
  using first = open.attach(made, { access: "read" });
  for (let time = 0; time < 3; time++) {
    using again = open.attach(made, { access: "read" });
    assertEquals([made.references, again.grants[0].allocation], [3, first.grants[0].allocation]);
  }
  assertEquals(made.references, 2);
});

testOpen("a frame outlives the AVFrame that it was attached from", (open) => {
  const made = CFrame.picture("rgb24", 5, 4);
  using frame = open.attach(made);
  made[Symbol.dispose]();
  using mapped = open.map(frame);
  assertEquals(elementOf(mapped, 0, 3, 4, 2), value("rgb24", 2, 4, 3));
});

testOpen("a frame that others refer to can be read only, unless it may be copied", (open) => {
  using made = CFrame.picture("gray", 16, 8);
  using other = made.clone();
  {
    using frame = open.attach(made);
    assertEquals(frame.access, "read");
    const error = assertThrows(() => open.map(frame, "read-write"), AccessError);
    assertEquals(error.api, "core");
  }
  const error = assertThrows(() => open.attach(made, { access: "read-write" }), AccessError);
  assertEquals([error.argument, error.fn], ["access", "av_frame_is_writable"]);
  assertEquals([made.references, open.ffmpeg.bytesCopied], [2, 0]);
  using copy = open.attach(made, { copy: "allow" });
  assertEquals([copy.access, made.references, open.ffmpeg.bytesCopied], ["read-write", 2, copy.byteLength]);
  using mapped = open.map(copy, "read-write");
  assertEquals(elementOf(mapped, 0, 7, 15), value("gray", 0, 15, 7));
  mapped.planes[0].bytes()[0] = 99;
  assertEquals(inC().pixel(other.pointer, 0, 0, 0), value("gray", 0, 0, 0));
});

testOpen("a copy is made only where it is needed", (open) => {
  using made = CFrame.picture("gray", 16, 8);
  open.attach(made, { copy: "allow" })[Symbol.dispose]();
  using other = made.clone();
  open.attach(other, { copy: "allow", access: "read" })[Symbol.dispose]();
  assertEquals(open.ffmpeg.bytesCopied, 0);
});

testOpen("a buffer that says so can be read only, without another reference", (open) => {
  using made = CFrame.picture("gray", 16, 8);
  inC().lock_buffer(made.pointer);
  using frame = open.attach(made);
  assertEquals(frame.access, "read");
});

for (
  const [format, planes] of [["yuv420p", 3], ["nv12", 2], ["yuv444p10le", 3], ["yuyv422", 1], ["rgb565le", 1]] as const
) {
  testOpen(`${format}: the layout begins inside of what is cropped`, (open) => {
    using made = CFrame.picture(format, 16, 12);
    inC().set_crop(made.pointer, 4, 2, 3, 1);
    using frame = open.attach(made);
    using mapped = open.map(frame);
    const { width, height } = frame.info as ImageInfo;
    assertEquals([width, height, frame.planes.length], [9, 9, planes]);
    const unit = mapped.planes[0].layout.strides[1];
    const step = format === "yuyv422" ? 2 : 1;
    const skipped = 2 * inC().linesize_of(made.pointer, 0) + 4 / step * unit;
    assertEquals(mapped.planes[0].address, inC().plane_of(made.pointer, 0) + BigInt(skipped));
    if (format === "yuv420p") {
      assertEquals(mapped.planes[2].layout.shape, [5, 5]);
      assertEquals(elementOf(mapped, 2, 4, 4), value(format, 2, 4 + 2, 4 + 1));
    }
    if (format === "nv12") assertEquals(elementOf(mapped, 1, 4, 4, 1), value(format, 2, 4 + 2, 4 + 1));
  });
}

testOpen("an odd crop of subsampled chroma begins half a step early, as FFmpeg's does", (open) => {
  using made = CFrame.picture("yuv420p", 15, 11);
  inC().set_crop(made.pointer, 3, 1, 0, 0);
  using frame = open.attach(made);
  using mapped = open.map(frame);
  assertEquals(mapped.planes.map(({ layout: { shape } }) => shape), [[10, 12], [5, 6], [5, 6]]);
  assertEquals(elementOf(mapped, 0, 0, 0), value("yuv420p", 0, 3, 1));
  assertEquals(elementOf(mapped, 1, 0, 0), value("yuv420p", 1, 1, 0));
});

testOpen("planes in buffers of their own are mapped, each in place", (open) => {
  using made = CFrame.scattered("yuv420p", 16, 8);
  using frame = open.attach(made);
  assertEquals(frame.access, "read-write");
  using mapped = open.map(frame);
  assertEquals([0, 1, 2].map((p) => elementOf(mapped, p, 2, 3)), [0, 1, 2].map((p) => value("yuv420p", p, 3, 2)));
});

/** AV_SAMPLE_FMT_*: packed, then planar. */
const SOUNDS = [[1, "i16", "interleaved"], [3, "f32", "interleaved"], [6, "i16", "planar"], [
  11,
  "i64",
  "planar",
]] as const;

for (const [format, dtype, form] of SOUNDS) {
  for (const channels of [1, 2, 10]) {
    testOpen(`sound: ${form} ${dtype} of ${channels} channels`, (open) => {
      using made = CFrame.sound(format, channels, 7, 44100);
      using frame = open.attach(made);
      const { media: _, ...info } = frame.info as unknown as Record<string, unknown>;
      const expected = { type: "audio", format: dtype, layout: form, channels, samples: 7, sampleRate: 44100 };
      assertEquals(info, expected);
      using mapped = open.map(frame);
      for (let c = 0; c < channels; c++) {
        const bytes = form === "planar" ? mapped.planes[c].bytes() : mapped.planes[0].bytes();
        const size = Number(dtype.slice(1)) / 8;
        assertEquals(bytes[form === "planar" ? 6 * size : (6 * channels + c) * size], 16 * c + 6);
      }
    });
  }
}

testOpen("what a decoder knows comes with the frame; what it does not is left out", (open) => {
  using made = CFrame.picture("yuv420p", 16, 8);
  {
    using frame = open.attach(made);
    assertEquals({ ...frame.info }.media, { keyFrame: inC().is_key(made.pointer) === 1 });
    assertEquals((frame.info as ImageInfo).colour, undefined);
  }
  for (const is of [true, false]) {
    inC().set_key(made.pointer, Number(is));
    using frame = open.attach(made);
    assertEquals({ ...frame.info }.media, { keyFrame: is });
  }
  inC().set_facts(made.pointer);
  using frame = open.attach(made);
  const { colour, media } = frame.info as ImageInfo;
  assertEquals(colour, { matrix: "bt709", range: "limited" });
  assertEquals(media, {
    ...{ pts: 123456789012345n, duration: 1001n, timeBase: [1, 30000], keyFrame: false, sampleAspect: [4, 3] },
    ...{ matrix: "bt709", primaries: "bt709", transfer: "smpte2084", chromaLocation: "left" },
  });
  using mapped = open.map(frame);
  assertEquals((mapped.info as ImageInfo).media, media);
});

/** What is changed in a frame, after it was attached once. */
const CHANGED: readonly (readonly [what: string, value: number])[] = [
  ...[["color_range", 1], ["colorspace", 1], ["color_primaries", 1], ["color_trc", 16], [
    "chroma_location",
    1,
  ]] as const,
  ...[["sample_aspect_ratio.num", 4], ["time_base.num", 1], ["linesize[1]", 96], ["data[1]", 2]] as const,
];

for (const [what, value] of CHANGED) {
  testOpen(`a frame is not described as the one before where ${what} is another`, (open) => {
    using made = CFrame.picture("nv12", 64, 8, 64);
    const described = () => {
      using frame = open.attach(made);
      return { ...frame.info, at: frame.planes.map(({ layout }) => ({ ...layout })) };
    };
    const before = described();
    assertEquals(described(), before);
    inC().change(made.pointer, cText(what), value);
    assertNotEquals(described(), before);
  });
}

testOpen("a frame is not described as the one before where its buffer is shorter", (open) => {
  using made = CFrame.picture("nv12", 64, 8, 64);
  open.attach(made)[Symbol.dispose]();
  inC().change(made.pointer, cText("buf[0]->size"), 64 * 32 + 64 * 3);
  assertThrows(() => open.attach(made), LayoutError, "reaches to byte");
});

testOpen("sound is not described as the one before where its rate or its length is another", (open) => {
  using made = CFrame.sound(6, 2, 7);
  const described = () => {
    using frame = open.attach(made);
    const { samples, sampleRate } = frame.info as AudioInfo;
    return [samples, sampleRate, ...frame.planes[1].layout.shape];
  };
  assertEquals(described(), [7, 48000, 7]);
  inC().change(made.pointer, cText("sample_rate"), 44100);
  assertEquals(described(), [7, 44100, 7]);
  inC().change(made.pointer, cText("nb_samples"), 5);
  assertEquals(described(), [5, 44100, 5]);
});

testOpen("sound of 64 channels is not described as the one before where its last plane lies elsewhere", (open) => {
  using made = CFrame.sound(6, 64, 7);
  const described = () => {
    using frame = open.attach(made, { access: "read" });
    return frame.planes.map(({ layout }) => layout.byteOffset);
  };
  const before = described();
  assertEquals([described(), before.length], [before, 64]);
  inC().misplace(made.pointer, 63, inC().plane_of(made.pointer, 63) + 2n);
  assertEquals(described(), before.with(63, before[63] + 2));
});

testOpen("a frame is not described as the one before where its buffer begins at an odd address", (open) => {
  using made = CFrame.picture("gray16le", 16, 8);
  open.attach(made)[Symbol.dispose]();
  for (const what of ["buf[0]->data", "data[0]"]) inC().change(made.pointer, cText(what), 1);
  assertThrows(() => open.attach(made), LayoutError, "does not begin at a multiple of the 2 bytes of u16");
});

testOpen("a crop beyond 32 bits is not taken for the one before", (open) => {
  using made = CFrame.picture("gray", 16, 8);
  inC().set_crop(made.pointer, 2, 0, 0, 0);
  open.attach(made)[Symbol.dispose]();
  fieldsAt(made.pointer as Address).crop_left = 2n ** 32n + 2n;
  assertThrows(() => open.attach(made), LayoutError, "its AVFrame shows");
});

testOpen("a plane that begins where a buffer ends lies in the next one", (open) => {
  using made = new CFrame(inC().adjacent(32, 16));
  using frame = open.attach(made);
  using mapped = open.map(frame);
  assertEquals([0, 1].map((p) => mapped.planes[p].address), [0, 1].map((p) => inC().plane_of(made.pointer, p)));
  assertEquals(mapped.planes.map((plane) => plane.bytes()[0]), [2, 1]);
});

testOpen("a yuvj format is the one without j, in full range", (open) => {
  using made = CFrame.picture("yuvj420p", 16, 8);
  using frame = open.attach(made);
  const { format, colour } = frame.info as ImageInfo;
  assertEquals([format, colour], ["I420", { range: "full" }]);
});

/** What is done to a picture of 16 × 8, how it is refused, and which words say so. */
const REFUSED: readonly (readonly [name: string, spoil: (made: CFrame) => void, typeof InteropError, RegExp])[] = [
  ["rows that go upwards", ({ pointer }) => inC().flip(pointer), LayoutError, /linesize\[0\].*upwards/],
  [
    "more rows than there is memory for",
    ({ pointer }) => inC().stretch(pointer, 100_000),
    LayoutError,
    /reaches to byte/,
  ],
  ["2³¹ − 1 rows", ({ pointer }) => inC().stretch(pointer, 2 ** 31 - 1), LayoutError, /reaches to byte/],
  ["memory without references", ({ pointer }) => inC().forget_buffers(pointer), ArgumentError, /no references/],
  ["a plane elsewhere", ({ pointer }) => inC().misplace(pointer, 1, 4096n), LayoutError, /plane 1 .*none/],
  ["a crop of everything", ({ pointer }) => inC().set_crop(pointer, 9, 0, 8, 0), LayoutError, /its AVFrame shows/],
  ["a crop of 2⁶⁴ − 1", ({ pointer }) => inC().set_crop(pointer, -1, 0, 0, 0), LayoutError, /its AVFrame shows/],
  ["no format", ({ pointer }) => inC().set_format(pointer, -1), ArgumentError, /no pixel format -?\d+/],
  [
    "a format that does not exist",
    ({ pointer }) => inC().set_format(pointer, 12345),
    ArgumentError,
    /no pixel format -?\d+/,
  ],
  ...["vaapi", "vulkan", "drm_prime", "cuda", "opencl"].map((name) =>
    [
      `frames of ${name}`,
      ({ pointer }: CFrame) => inC().set_format(pointer, inC().format_of(cText(name))),
      ...[ArgumentError, new RegExp(`format is ${name}: its pixels are a device's`)] as const,
    ] as const
  ),
];

for (const [name, spoil, type, words] of REFUSED) {
  testOpen(`refused: ${name}`, (open) => {
    using made = CFrame.picture("yuv420p", 16, 8);
    using kept = made.clone(); // it frees what the other has forgotten
    spoil(made);
    let told = 0;
    const error = assertThrows(() => open.attach(made, { owner: () => told++ }), type);
    assert(words.test(error.message), error.message);
    assertEquals([error.api, error.argument, told], ["ffmpeg", "pointer", 1]);
    if (name === "memory without references") return;
    assertEquals(kept.references, 2);
  });
}

for (const format of ["yuyv422", "uyvy422"]) {
  testOpen(`refused: a crop of ${format} in the middle of a pair`, (open) => {
    using made = CFrame.picture(format, 16, 8);
    inC().set_crop(made.pointer, 3, 0, 0, 0);
    assertThrows(() => open.attach(made), LayoutError, "from 3, 0 on, and there are");
  });
}

testOpen("refused: anything but an AVFrame, and an empty one", (open) => {
  using empty = new CFrame(inC().empty());
  assertThrows(() => open.attach(empty), ArgumentError, "empty");
  using bytes = host.allocate({ shape: [4096], dtype: "u8" });
  assertThrows(() => open.ffmpeg.attach(bytes.address), ArgumentError, "expected an AVFrame");
  assertThrows(() => open.ffmpeg.attach(16n), ArgumentError, "cannot be read");
});

testOpen("the owner is called once, after the last of two frames over the same bytes", (open) => {
  using made = CFrame.picture("gray", 16, 8);
  let told = 0;
  const one = open.attach(made, { access: "read", owner: () => told++ });
  const two = open.attach(made);
  assertEquals(made.references, 3);
  one[Symbol.dispose]();
  assertEquals([told, made.references], [0, 3]); // the block that both share was the first one's
  two[Symbol.dispose]();
  assertEquals([told, made.references], [1, 1]);
});

testOpen("an AVFrame that outlives its context, since another's frame is over the same bytes, is freed", (open) => {
  using made = CFrame.picture("gray", 16, 8);
  const fns = avutil().fns as { -readonly [N in "av_frame_alloc" | "av_frame_free"]: AVUtil[N] };
  const { av_frame_alloc, av_frame_free } = fns;
  let alive = 0;
  fns.av_frame_alloc = () => (alive++, av_frame_alloc());
  fns.av_frame_free = (frame) => (alive--, av_frame_free(frame));
  try {
    const [first, second] = [FFmpegContext.open(), FFmpegContext.open()];
    first.attach(made.pointer, { access: "read" });
    second.attach(made.pointer, { access: "read" });
    first[Symbol.dispose]();
    assertEquals(made.references, 3);
    second[Symbol.dispose]();
    assertEquals([made.references, alive], [1, 0]);
  } finally {
    Object.assign(fns, { av_frame_alloc, av_frame_free });
  }
  void open;
});

testOpen("a context that ends takes its frames with it", (open) => {
  using made = CFrame.picture("gray", 16, 8);
  const frame = open.attach(made);
  open.graph[Symbol.dispose]();
  open.ffmpeg[Symbol.dispose]();
  assertEquals(made.references, 1);
  assertThrows(() => frame.planes[0].slice(frame.planes[0].layout), DisposedError);
  assertThrows(() => open.attach(made), DisposedError);
});

test("FFmpeg keeps its memory where a view was moved away", async () => {
  using made = CFrame.picture("gray", 16, 8);
  const [warning] = await warningsOf(() => {
    using open = new Open();
    using frame = open.attach(made);
    using mapped = open.map(frame);
    structuredClone(null, { transfer: [mapped.planes[0].bytes().buffer] });
  });
  assert(warning.includes("ffmpeg.buffer"), warning);
  assertEquals(made.references, 2);
});

const shapes = ({ planes }: Frame) => planes.map(({ layout: { shape } }) => shape);

testOpen(
  "DL Streamer 2: another size of the same memory, and its other plane, is not what was mapped before",
  (open) => {
    using made = CFrame.picture("nv12", 100, 100);
    using whole = open.attach(made, { access: "read" });
    using first = open.map(whole);
    inC().set_crop(made.pointer, 0, 0, 50, 50);
    using part = open.attach(made);
    using second = open.map(part);
    assertEquals([shapes(first), shapes(second)], [[[100, 100], [50, 50, 2]], [[50, 50], [25, 25, 2]]]);
    assertEquals(second.planes.map(({ address }) => address), [0, 1].map((p) => inC().plane_of(made.pointer, p)));
  },
);

testOpen("DL Streamer 2: an address that comes again is not an old frame", (open) => {
  for (const [width, height] of [[16, 8], [8, 16]]) {
    using made = CFrame.picture("gray", width, height);
    using frame = open.attach(made);
    using mapped = open.map(frame);
    assertEquals(shapes(mapped), [[height, width]]);
    assertEquals(elementOf(mapped, 0, 7, 7), value("gray", 0, 7, 7));
  }
});

testOpen("DL Streamer 3: FFmpeg's memory lives as long as what was mapped from it", (open) => {
  const made = CFrame.picture("gray", 16, 8);
  const other = made.clone();
  const frame = open.attach(made);
  made[Symbol.dispose]();
  const mapped = open.map(frame);
  assertEquals(other.references, 2);
  assertEquals(elementOf(mapped, 0, 7, 15), value("gray", 0, 15, 7));
  frame[Symbol.dispose]();
  assertThrows(() => mapped.planes[0].view(), DisposedError);
  assertEquals(other.references, 1);
  other[Symbol.dispose]();
});

testOpen("DL Streamer 4 and 5: a map to where it is leaks nothing, and nothing keeps a context", (open) => {
  using made = CFrame.picture("gray", 16, 8);
  using frame = open.attach(made);
  for (let i = 0; i < 100; i++) open.graph.map(frame, open.ffmpeg, { access: "read" })[Symbol.dispose]();
  assertEquals(made.references, 2);
});

testOpen("DL Streamer 11: a plane does not outlive its frame", (open) => {
  using made = CFrame.picture("nv12", 16, 8);
  const frame = open.attach(made);
  const [, plane] = frame.planes;
  frame[Symbol.dispose]();
  assertThrows(() => open.graph.map(plane, host), DisposedError);
});

testOpen("DL Streamer 15: several isolates attach one AVFrame at the same time", async (open) => {
  using made = CFrame.picture("gray", 16, 8);
  const url = new URL("workers/maps.ts", import.meta.url);
  const workers = [1, 2, 3].map(() => new Worker(url, { type: "module" }));
  try {
    const answered = Promise.all(workers.map((worker) =>
      new Promise<unknown>((resolve) => {
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = (event) => {
          event.preventDefault();
          resolve(event.message);
        };
        worker.postMessage(made.pointer);
      })
    ));
    for (let over = false; !over;) {
      for (let i = 0; i < 100; i++) open.attach(made, { access: "read" })[Symbol.dispose]();
      const soon = new Promise<boolean>((resolve) => setTimeout(() => resolve(false)));
      over = await Promise.race([answered.then(() => true), soon]);
    }
    assertEquals(await answered, workers.map(() => "done"));
    assertEquals(made.references, 1);
  } finally {
    for (const worker of workers) worker.terminate();
  }
});

testOpen("DL Streamer 16: sizes beyond 32 bits are not cut", (open) => {
  using made = CFrame.picture("gray", 16, 8);
  inC().stretch(made.pointer, 2 ** 31 - 1);
  const least = 16 * (2 ** 31 - 2) + 16;
  const error = assertThrows(() => open.attach(made), LayoutError);
  assert(Number(/reaches to byte (\d+)/.exec(error.message)?.[1]) >= least, error.message);
});

test("an error of FFmpeg's own is said in its words where libavutil is all that is there", async () => {
  const { stdout, stderr } = await runModule(
    `import { failure } from "../../src/ffmpeg/library.ts";
    import { AVERROR_EXTERNAL } from "../../ffi/avutil57/errors.ts";
    console.log(failure(AVERROR_EXTERNAL, "av_hwdevice_ctx_init").message);`,
    { env: { SAMEPAGE_LIB_FFMPEG_CODEC: "/nonesuch/libavcodec.so" } },
  );
  assertStringIncludes(stdout + stderr, "av_hwdevice_ctx_init failed with AVERROR_EXTERNAL (-542398533: Generic error");
});
