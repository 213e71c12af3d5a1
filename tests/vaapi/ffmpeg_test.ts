/** FFmpeg's VA-API frames as frames of ours and back, on the driver of the tests: no GPU is needed. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  AccessError,
  ArgumentError,
  DisposedError,
  type Frame,
  host,
  type ImageInfo,
  LayoutError,
  ledger,
} from "../../mod.ts";
import { FFmpegContext } from "../../src/ffmpeg/mod.ts";
import type { HostTensor } from "../../src/host/mod.ts";
import { VaapiContext } from "../../src/vaapi/mod.ts";
import { until } from "../conformance/bytes.ts";
import { CFrame, cText, inC } from "../ffmpeg/frames.ts";
import { clip, missing as noClips } from "../ffmpeg/clips.ts";
import { value, withoutDevice } from "../ffmpeg/open.ts";
import { driverTest, type There } from "./help.ts";
import { NODE } from "./driver.ts";
import { picture, pixelsOf, randomFrame } from "./pixels.ts";

const missing = withoutDevice("vaapi");

interface Here extends There {
  readonly ffmpeg: FFmpegContext;
  /** FFmpeg's device: a reference of the program's. */
  readonly device: bigint;
}

function test(name: string, fn: (here: Here) => unknown, lacks = missing): void {
  if (lacks !== undefined) {
    return Deno.test({ name: `ffmpeg: ${name} (not here: ${lacks})`, ignore: true, fn() {} });
  }
  driverTest(`ffmpeg: ${name}`, [], async (there) => {
    {
      using ffmpeg = FFmpegContext.open({ on: there.va });
      const device = ffmpeg.avDevice();
      try {
        await fn({ ...there, ffmpeg, device });
      } finally {
        inC().unreference(device);
      }
    }
    await until(() => ledger.alive["native.flag"] === undefined);
  });
}

type Pixels = Frame<HostTensor>;

// FFmpeg's decoder of AV1 that works on devices has no software: another one takes its place.
for (const name of ["h264.mkv", "av1.mkv"] as const) {
  test(`a driver without a decoder: the CPU decodes, in the same frames: ${name}`, async ({ ffmpeg, device }) => {
    const path = await clip(name);
    const expected: unknown[] = [];
    for await (using theirs of ffmpeg.decode(path)) expected.push([theirs.info, theirs.planes[0].layout.byteLength]);
    const before = inC().buffer_references(device);
    for await (using frame of ffmpeg.decode(path, { hardware: true })) {
      assert(inC().buffer_references(device) > before, "the decoder has FFmpeg's device");
      assertEquals(frame.target, ffmpeg);
      assertEquals([frame.info, frame.planes[0].layout.byteLength], expected.shift());
    }
    assertEquals([expected, inC().buffer_references(device)], [[], before]);
  }, missing ?? noClips);
}

test("what FFmpeg uploads is what the surface's frame shows", ({ va, ffmpeg, graph, device }) => {
  using made = CFrame.hardware(device, "vaapi", "nv12", 64, 32);
  using pixels = CFrame.picture("nv12", 64, 32);
  assertEquals(inC().transfer(made.pointer, pixels.pointer), 0);
  using frame = ffmpeg.attach(made.pointer);
  assertEquals([frame.target, frame.info.format, frame.access], [va, "NV12", "read-write"]);
  assertEquals(made.references, 2);
  using shown = graph.map(frame, host, { copy: "allow", access: "read" }) as unknown as Pixels;
  const { layout: { strides: [row] } } = shown.planes[1];
  assertEquals(shown.planes[1].view()[3 * row + 9], inC().pixel(pixels.pointer, 2, 4, 3));
});

test("a surface of ours is a frame of FFmpeg's, which knows its frames context and reads its pixels", async ({ va, ffmpeg, graph }) => {
  using pixels = randomFrame("NV12", 64, 32);
  await using surface = graph.map(pixels, va, { copy: "allow", access: "read" });
  using given = new CFrame(ffmpeg.avFrame(surface));
  assertEquals(inC().is_writable(given.pointer), 0);
  using copy = given.downloaded("nv12", 64, 32);
  const [luma, chroma] = pixelsOf(pixels);
  assertEquals(inC().pixel(copy.pointer, 0, 7, 5), luma[5 * 64 + 7]);
  assertEquals(inC().pixel(copy.pointer, 2, 7, 5), chroma[5 * 64 + 2 * 7 + 1]);
});

test("what FFmpeg writes into a surface of ours is what its frame shows", async ({ va, ffmpeg, graph }) => {
  await using surface = va.allocateFrame(picture("NV12", 64, 32));
  {
    using given = new CFrame(ffmpeg.avFrame(surface));
    using from = CFrame.picture("nv12", 64, 32);
    assertEquals(inC().transfer(given.pointer, from.pointer), 0);
  }
  await surface.finished();
  using shown = graph.map(surface, host, { copy: "allow", access: "read" }) as unknown as Pixels;
  assertEquals(shown.planes[0].view()[3 * shown.planes[0].layout.strides[0] + 9], value("nv12", 0, 9, 3));
});

test("FFmpeg keeps a surface for as long as it likes, and its frame's end waits", async ({ va, ffmpeg }) => {
  const surface = va.allocateFrame(picture("NV12", 64, 32));
  const given = new CFrame(ffmpeg.avFrame(surface));
  const kept = given.clone();
  given[Symbol.dispose]();
  const end = surface[Symbol.asyncDispose]();
  assertEquals(surface.resource.state, "returning");
  kept[Symbol.dispose]();
  await end;
});

test("frames of one format and size have one frames context", async ({ va, ffmpeg, device }) => {
  await using one = va.allocateFrame(picture("NV12", 64, 32));
  await using two = va.allocateFrame(picture("NV12", 64, 32));
  await using other = va.allocateFrame(picture("NV12", 32, 32));
  const before = inC().buffer_references(device);
  using _first = new CFrame(ffmpeg.avFrame(one));
  using _second = new CFrame(ffmpeg.avFrame(two));
  assertEquals(inC().buffer_references(device), before + 1);
  using _third = new CFrame(ffmpeg.avFrame(other));
  assertEquals(inC().buffer_references(device), before + 2);
});

test("an AVFrame that others hold too can be read only", ({ ffmpeg, device }) => {
  using made = CFrame.hardware(device, "vaapi", "nv12", 64, 32);
  using _other = made.clone();
  using frame = ffmpeg.attach(made.pointer, { copy: "allow" }); // there is no copy of a surface
  assertEquals([frame.access, ffmpeg.bytesCopied], ["read", 0]);
  const error = assertThrows(() => ffmpeg.attach(made.pointer, { access: "read-write" }), AccessError);
  assertStringIncludes(error.hint!, "av_hwframe_transfer_data");
});

test("a surface outlives its AVFrame and its pool, while its frame lives", ({ ffmpeg, graph, device }) => {
  const made = CFrame.hardware(device, "vaapi", "nv12", 64, 32);
  using from = CFrame.picture("nv12", 64, 32);
  inC().transfer(made.pointer, from.pointer);
  using frame = ffmpeg.attach(made.pointer);
  made[Symbol.dispose](); // the last reference to its frames context, but for ours
  using shown = graph.map(frame, host, { copy: "allow", access: "read" }) as unknown as Pixels;
  assertEquals(shown.planes[0].view()[9], value("nv12", 0, 9, 0));
});

test("what it is, and how it is cropped, comes along", ({ ffmpeg, device }) => {
  using made = CFrame.hardware(device, "vaapi", "nv12", 64, 32);
  inC().set_facts(made.pointer);
  inC().set_crop(made.pointer, 0, 0, 4, 2);
  using frame = ffmpeg.attach(made.pointer);
  const { width, height, colour, media } = frame.info as ImageInfo;
  assertEquals([width, height, colour, media?.pts], [60, 30, { matrix: "bt709", range: "limited" }, 123456789012345n]);
  inC().set_crop(made.pointer, 2, 0, 0, 0);
  const error = assertThrows(() => ffmpeg.attach(made.pointer), LayoutError);
  assertStringIncludes(error.message, "begins at pixel 2, 0");
});

test("contexts that end first end what lies in them", ({ va, ffmpeg, device }) => {
  using made = CFrame.hardware(device, "vaapi", "nv12", 64, 32);
  const frame = ffmpeg.attach(made.pointer);
  {
    using other = FFmpegContext.open({ on: va });
    using second = CFrame.hardware(device, "vaapi", "nv12", 64, 32);
    const theirs = other.attach(second.pointer);
    other[Symbol.dispose]();
    assertEquals([theirs.resource.state, second.references], ["freed", 1]);
  }
  void ffmpeg[Symbol.asyncDispose](); // it waits for the program's references, and its frames are over at once
  assertEquals([frame.resource.state, made.references], ["freed", 1]);
  assertThrows(() => ffmpeg.attach(made.pointer), DisposedError);
  assertThrows(() => ffmpeg.avDevice(), DisposedError);
});

test("a display ends once FFmpeg has no reference to its device", async ({ va }) => {
  const ffmpeg = FFmpegContext.open({ on: va });
  const device = ffmpeg.avDevice();
  const end = ffmpeg[Symbol.asyncDispose]();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assertEquals([ffmpeg.resource.state, inC().buffer_references(device)], ["returning", 2]);
  inC().unreference(device);
  await end;
  assertEquals(ffmpeg.resource.state, "freed");
});

test("a frame of another display is refused, with what to open", ({ ffmpeg, va }) => {
  using other = VaapiContext.open({ node: NODE });
  using theirs = FFmpegContext.open({ on: other });
  const device = theirs.avDevice();
  using made = CFrame.hardware(device, "vaapi", "nv12", 64, 32);
  inC().unreference(device);
  const error = assertThrows(() => ffmpeg.attach(made.pointer), ArgumentError);
  assertStringIncludes(error.message, `on display 0x${other.handle.toString(16)}, and this context is on ${va.name}`);
  assertStringIncludes(error.hint!, `FFmpegContext.open({ on: VaapiContext.attach(${other.handle}n) })`);
});

test("what FFmpeg's own device makes is a frame on a display that was attached", ({ device, va }) => {
  using standing = VaapiContext.attach(va.handle);
  using ffmpeg = FFmpegContext.open({ on: standing });
  using made = CFrame.hardware(device, "vaapi", "nv12", 64, 32);
  using frame = ffmpeg.attach(made.pointer);
  assertEquals(frame.target, standing as typeof frame.target);
});

test("an AVFrame of no frames context is refused", ({ ffmpeg, device }) => {
  using made = CFrame.hardware(device, "vaapi", "nv12", 64, 32);
  const context = inC().swap_frames_context(made.pointer, 0n);
  const error = assertThrows(() => ffmpeg.attach(made.pointer), ArgumentError);
  inC().swap_frames_context(made.pointer, context);
  assertStringIncludes(error.message, "no frames context (hw_frames_ctx)");
});

test("a surface that FFmpeg was given is not attached as another", async ({ va, ffmpeg }) => {
  for (const access of ["read", "read-write"] as const) {
    await using surface = va.allocateFrame(picture("NV12", 64, 32));
    await using lent = surface.borrow(access);
    using given = new CFrame(ffmpeg.avFrame(lent));
    const error = assertThrows(() => ffmpeg.attach(given.pointer), ArgumentError);
    assertStringIncludes(error.message, "over a tensor's memory");
    assertEquals(given.references, 1);
  }
});

test("other contexts, and formats of other devices, are refused", ({ ffmpeg, device }) => {
  const none = assertThrows(() => FFmpegContext.open({ on: host }), ArgumentError);
  assertStringIncludes(none.message, "no FFmpeg hardware frames on host");
  using plain = FFmpegContext.open();
  using made = CFrame.hardware(device, "vaapi", "nv12", 64, 32);
  const error = assertThrows(() => plain.attach(made.pointer), ArgumentError);
  assertStringIncludes(
    error.message,
    "its format is vaapi: its pixels are a device's, and this context is on no device",
  );
  assertStringIncludes(error.hint!, "FFmpegContext.open({ on }) with a context of vaapi");
  assertThrows(() => plain.avDevice(), ArgumentError, "is on no device");
  inC().set_format(made.pointer, inC().format_of(cText("drm_prime")));
  assertThrows(() => ffmpeg.attach(made.pointer), ArgumentError, "its format is drm_prime");
});
