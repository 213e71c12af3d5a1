// GstBuffers that other code has made, as frames of samepage's: the same bytes, references that add up, and what is refused.

import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  type AudioInfo,
  type Frame,
  host,
  type ImageInfo,
  LayoutError,
} from "@samepage/interop";
import type { GStreamerTensor } from "@samepage/interop/gstreamer";
import { GstAllocator } from "../../ffi/gstreamer/structs.ts";
import * as gs from "../../ffi/gstreamer/constants.ts";
import { addressOf, viewAt } from "../../src/core/native/pin.ts";
import { cString } from "../../src/core/native/text.ts";
import { gst, gstAllocators, gstAudio } from "../../src/gstreamer/library.ts";
import { caps, CBuffer, locked, memory, planesOf, write } from "./buffers.ts";
import { testOpen } from "./open.ts";

const NV12 = "video/x-raw,format=NV12,width=4,height=4,framerate=30/1,colorimetry=bt709,chroma-site=mpeg2";

function placesIn(frame: Frame) {
  const { planes } = frame as Frame<GStreamerTensor>;
  return planes.map(({ address, layout: { strides: [stride] } }) => ({ address, stride }));
}

testOpen("attach() lays planes out as GStreamer does where the buffer says nothing itself", (open) => {
  using given = new CBuffer(memory(24));
  using frame = open.gst.attach(given.address, { caps: NV12 });
  const { format, width, height, colour, media } = frame.info as ImageInfo;
  assertEquals([format, width, height, frame.access, frame.handle], ["NV12", 4, 4, "read-write", given.address]);
  assertEquals(placesIn(frame), planesOf(given.address, NV12));
  assertEquals(colour, { matrix: "bt709", range: "limited" });
  assertEquals(media, {
    ...{ frameRate: [30, 1], sampleAspect: [1, 1], timeBase: [1, 1_000_000_000], keyFrame: true },
    ...{ matrix: "bt709", transfer: "bt709", primaries: "bt709", chromaLocation: "left" },
  });
  using seen = open.map(frame, "read-write");
  seen.planes[1].bytes()[3] = 200;
  assertEquals([given.bytes().getUint8(19), given.bytes().getUint8(18)], [200, 18]);
});

for (const memories of [[64], [40, 24]]) {
  testOpen(`attach() keeps the offset and the stride of each plane, in ${memories.length} memories`, (open) => {
    using given = new CBuffer(...memories.map((byteLength, i) => memory(byteLength, 40 * i)));
    given.addVideoMeta("NV12", [4, 4], [3, 44], [8, 6]);
    using frame = open.gst.attach(given.address);
    assertEquals(placesIn(frame), planesOf(given.address, NV12));
    using seen = open.map(frame);
    const [luma, chroma] = seen.planes;
    assertEquals([luma.bytes()[0], luma.bytes()[9], chroma.bytes()[0], chroma.bytes()[9]], [3, 12, 44, 53]);
  });
}

testOpen("attach() has a reference of its own, which ends with the frame", (open) => {
  using given = new CBuffer(memory(24));
  const frame = open.gst.attach(given.address, { caps: NV12 });
  assertEquals(given.references, 2);
  frame[Symbol.dispose]();
  assertEquals(given.references, 1);
});

testOpen("attach() takes a sample, whose caps say what it holds", (open) => {
  using given = new CBuffer(memory(24));
  using sample = given.sample(NV12);
  using frame = open.gst.attach(sample.address);
  assertEquals([frame.info.format, frame.access, given.references], ["NV12", "read", 3]);
});

testOpen("attach() takes caps by their address, and has no caps of another's for them", (open) => {
  using given = new CBuffer(memory(48));
  for (const [width, height] of [[4, 4], [6, 2], [2, 6], [4, 4]]) {
    using its = caps(`video/x-raw,format=NV12,width=${width},height=${height}`);
    using frame = open.gst.attach(given.address, { caps: its.address });
    assertEquals([(frame.info as ImageInfo).width, (frame.info as ImageInfo).height], [width, height]);
  }
});

testOpen("attach() lets a buffer be read only that others refer to, unless it may be copied", (open) => {
  using given = new CBuffer(memory(24));
  using _other = given.again();
  {
    using frame = open.gst.attach(given.address, { caps: NV12 });
    assertEquals(frame.access, "read");
    assertThrows(() => open.map(frame, "read-write"), AccessError);
  }
  const error = assertThrows(() => open.gst.attach(given.address, { caps: NV12, access: "read-write" }), AccessError);
  assertEquals([error.argument, error.fn], ["access", "gst_buffer_is_all_memory_writable"]);
  assertEquals([given.references, open.gst.bytesCopied], [2, 0]);
  using copy = open.gst.attach(given.address, { caps: NV12, copy: "allow" });
  assertEquals([copy.access, given.references, open.gst.bytesCopied], ["read-write", 2, 24]);
  using seen = open.map(copy, "read-write");
  assertEquals(seen.planes[1].bytes()[2], 18);
  seen.planes[1].bytes()[2] = 99;
  assertEquals(given.bytes().getUint8(18), 18);
});

testOpen("attach() lets memory be read only that says so, or a sample of which there are two", (open) => {
  using fixed = new CBuffer(locked(memory(24)));
  using frame = open.gst.attach(fixed.address, { caps: NV12 });
  using copy = open.gst.attach(fixed.address, { caps: NV12, copy: "allow" });
  assertEquals([frame.access, copy.access, open.gst.bytesCopied], ["read", "read-write", 24]);
  const given = new CBuffer(memory(24));
  using sample = given.sample(NV12);
  given[Symbol.dispose]();
  {
    using _again = sample.again();
    using shared = open.gst.attach(sample.address);
    assertEquals(shared.access, "read");
  }
  using own = open.gst.attach(sample.address);
  assertEquals(own.access, "read-write");
});

testOpen("attach() reads the metas of each buffer, also where the one before was nearly the same", (open) => {
  const placesOf = (prepare: (given: CBuffer) => void, byteLength = 200) => {
    using given = new CBuffer(memory(byteLength));
    prepare(given);
    using frame = open.gst.attach(given.address, { caps: NV12 });
    return frame.planes.map(({ layout: { byteOffset, strides: [stride] } }) => [byteOffset, stride]);
  };
  assertEquals(placesOf((given) => given.addVideoMeta("NV12", [4, 4], [0, 64], [8, 8])), [[0, 8], [64, 8]]);
  assertEquals(placesOf((given) => given.addVideoMeta("NV12", [4, 4], [0, 72], [8, 8])), [[0, 8], [72, 8]]);
  assertEquals(placesOf((given) => given.addVideoMeta("NV12", [4, 4], [0, 72], [8, 4])), [[0, 8], [72, 4]]);
  assertEquals(placesOf(() => {}), [[0, 4], [16, 4]]);
  assertEquals(placesOf((given) => given.addCrop(0, 2, 4, 2)), [[8, 4], [20, 4]]);
  assertEquals(placesOf((given) => given.addCrop(2, 2, 2, 2)), [[10, 4], [22, 4]]);
  assertThrows(() => placesOf(() => {}, 23), LayoutError, "the memory has 23");
  assertEquals(placesOf(() => {}, 24), [[0, 4], [16, 4]]);
});

testOpen("attach() refuses values at addresses that they cannot have", (open) => {
  const odd = memory(64);
  gst().gst_memory_resize(odd, 1n, 49n);
  using given = new CBuffer(odd);
  const caps = NV12.replace("NV12", "P010_10LE");
  assertThrows(
    () => open.gst.attach(given.address, { caps }),
    LayoutError,
    "does not begin at a multiple of the 2 bytes of u16",
  );
  using bytes = open.gst.attachBytes(given.address);
  assertEquals([bytes.byteLength, given.references], [49, 2]);
});

testOpen("attach() names where memory is that the CPU sees only in a copy", (open) => {
  // A real allocator of fds, which says that it is OpenGL's: there is no GPU here.
  const allocator = gstAllocators().gst_fd_allocator_new();
  const name = cString("GLMemory");
  const at = viewAt(allocator, GstAllocator.size, "gstreamer");
  at.setBigUint64(GstAllocator.fields.mem_type.offset, addressOf(name, "gstreamer"), true);
  using file = host.allocate({ shape: [4096], dtype: "u8", sharable: true });
  using given = new CBuffer(gstAllocators().gst_fd_allocator_alloc(allocator, file.exportFd(), 4096n, 0));
  gst().gst_object_unref(allocator);
  const caps = NV12.replace("x-raw", "x-raw(memory:GLMemory)");
  const error = assertThrows(() => open.gst.attach(given.address, { caps }), ArgumentError);
  assertEquals([error.argument, error.hint], ["pointer", "Put gldownload ! video/x-raw in front."]);
  assertStringIncludes(error.message, "GLMemory: its bytes are in an OpenGL texture");
  assertEquals(given.references, 1);
});

testOpen("attach() shows the part that a GstVideoCropMeta shows, in pixels of each plane", (open) => {
  using given = new CBuffer(memory(24 * 6));
  given.addVideoMeta("NV12", [8, 8], [0, 96], [12, 12]);
  given.addCrop(2, 4, 4, 2);
  using frame = open.gst.attach(given.address, { caps: NV12.replace("height=4", "height=2") });
  assertEquals(frame.planes.map(({ layout: { shape, byteOffset } }) => [shape, byteOffset]), [
    [[2, 4], 4 * 12 + 2],
    [[1, 2, 2], 96 + 2 * 12 + 2],
  ]);
});

testOpen(
  "attach() treats anything but a time of GStreamer's as none: elements of FFmpeg's pass its own number on",
  (open) => {
    for (const none of [2n ** 64n - 1n, 2n ** 63n]) {
      using given = new CBuffer(memory(24));
      write(given.address, "pts", none);
      write(given.address, "duration", none);
      using frame = open.gst.attach(given.address, { caps: NV12 });
      assertEquals([frame.info.media!.pts, frame.info.media!.duration], [undefined, undefined]);
    }
  },
);

testOpen("attach() has times, flags and sound of a buffer", (open) => {
  using given = new CBuffer(memory(32));
  write(given.address, "pts", 40_000_000n);
  write(given.address, "duration", 20_000_000n);
  gst().gst_buffer_set_flags(given.address, gs.GST_BUFFER_FLAG_DISCONT | gs.GST_BUFFER_FLAG_DELTA_UNIT);
  const text = "audio/x-raw,format=S16LE,rate=48000,channels=2,layout=interleaved";
  using frame = open.gst.attach(given.address, { caps: text });
  const { format, sampleRate, channels, samples, layout, media } = frame.info as AudioInfo;
  assertEquals([format, sampleRate, channels, samples, layout], ["i16", 48000, 2, 8, "interleaved"]);
  assertEquals(media, {
    ...{ pts: 40_000_000n, duration: 20_000_000n, timeBase: [1, 1_000_000_000] as const },
    ...{ keyFrame: false, discontinuous: true },
  });
});

testOpen("attach() finds the planes of sound by a GstAudioMeta", (open) => {
  using given = new CBuffer(memory(40));
  const info = new DataView(new ArrayBuffer(320));
  const text = "audio/x-raw,format=S16LE,rate=48000,channels=2,layout=non-interleaved";
  using its = caps(text);
  gstAudio().gst_audio_info_from_caps(info, its.address);
  assertThrows(() => open.gst.attach(given.address, { caps: text }), ArgumentError, "GstAudioMeta");
  gstAudio().gst_buffer_add_audio_meta(given.address, info, 8n, BigUint64Array.of(4n, 22n));
  using frame = open.gst.attach(given.address, { caps: text });
  assertEquals(frame.planes.map(({ layout: { shape, byteOffset } }) => [shape, byteOffset]), [[[8], 4], [[8], 22]]);
});

testOpen("attach() tells a buffer that says it has no samples from one that does not say", (open) => {
  const text = "audio/x-raw,format=S16LE,rate=48000,channels=2,layout=interleaved";
  const info = new DataView(new ArrayBuffer(320));
  using its = caps(text);
  gstAudio().gst_audio_info_from_caps(info, its.address);
  using given = new CBuffer(memory(40));
  open.gst.attach(given.address, { caps: text })[Symbol.dispose]();
  gstAudio().gst_buffer_add_audio_meta(given.address, info, 0n, null);
  assertThrows(() => open.gst.attach(given.address, { caps: text }), ArgumentError, "no samples");
});

testOpen("attachBytes() has the bytes of a buffer of any caps", (open) => {
  using given = new CBuffer(memory(10));
  using sample = given.sample("video/x-h264");
  using bytes = open.gst.attachBytes(sample.address);
  assertEquals([bytes.shape, bytes.address - BigInt(bytes.layout.byteOffset)], [[10], bytes.handle]);
  using two = new CBuffer(memory(4), memory(4));
  assertThrows(() => open.gst.attachBytes(two.address), LayoutError, "2 blocks");
  assert(two.references === 1);
});
