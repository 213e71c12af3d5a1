/** FFmpeg's OpenCL frames as images of ours and back, on PoCL, in one `cl_context` and on one queue. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { AV_FRAME_DATA_CONTENT_LIGHT_LEVEL, AV_FRAME_DATA_DISPLAYMATRIX } from "../../ffi/avutil57/constants.ts";
import { ArgumentError, Frame, host, imageInfo, ledger, MapperGraph } from "@samepage/interop";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { AV_LOG_INFO } from "../../ffi/avcodec59/constants.ts";
import { OpenCLContext, type OpenCLImage } from "@samepage/interop/opencl";
import { until } from "../conformance/bytes.ts";
import { collect } from "../gc.ts";
import { HERE, open as openOpenCL } from "../opencl/help.ts";
import { runModule } from "../process.ts";
import { withEmptyLedger } from "../unit/ledger.ts";
import { warningsOf } from "../warnings.ts";
import { CFrame, inC } from "./frames.ts";
import { test, value, withoutDevice } from "./open.ts";

const lacking = HERE.includes("pocl") ? withoutDevice("opencl") : "PoCL";

interface There {
  readonly cl: OpenCLContext;
  readonly ffmpeg: FFmpegContext;
  readonly device: bigint;
}

function testOpenCL(name: string, fn: (there: There) => unknown): void {
  test(
    name,
    withEmptyLedger(async () => {
      {
        using cl = openOpenCL("pocl");
        await using ffmpeg = FFmpegContext.open({ on: cl });
        const device = ffmpeg.avDevice();
        try {
          await fn({ cl, ffmpeg, device });
        } finally {
          inC().unreference(device);
        }
      }
      await until(() => ledger.alive["native.flag"] === undefined);
    }),
    lacking,
  );
}

test(
  "a context that the end of its device's context has ended is not said to be forgotten",
  withEmptyLedger(async () => {
    const warnings = await warningsOf(async () => {
      (() => {
        using cl = openOpenCL("pocl");
        FFmpegContext.open({ on: cl });
      })();
      await collect();
    });
    assertEquals(warnings, []);
  }),
  lacking,
);

const FORMATS = [["rgba", "RGBA"], ["bgra", "BGRA"], ["gray", "GRAY8"], ["yuv420p", "I420"]] as const;

for (const [theirs, ours] of FORMATS) {
  testOpenCL(
    `FFmpeg's ${theirs} frames are images of ours, which read what it uploads and write what it downloads`,
    ({ cl, ffmpeg, device }) => {
      using made = CFrame.hardware(device, "opencl", theirs, 64, 32);
      using from = CFrame.picture(theirs, 64, 32);
      assertEquals(inC().transfer(made.pointer, from.pointer), 0);
      using frame = ffmpeg.attach(made.pointer) as Frame<OpenCLImage>;
      assertEquals([frame.info.format, frame.target.context, frame.access], [ours, cl, "read-write"]);
      const last = frame.planes[frame.planes.length - 1];
      const bytes = new Uint8Array(last.layout.byteLength);
      cl.queue.read(last, bytes);
      const c = theirs === "gray" ? 0 : 2;
      const [width, channels] = [last.layout.shape[1], last.layout.shape[2] ?? 1];
      const channel = theirs === "rgba" ? 2 : theirs === "bgra" ? 0 : channels - 1;
      assertEquals(bytes[(3 * width + 5) * channels + channel], value(theirs, c, 5, 3));
      cl.queue.write(last, bytes.map((byte) => byte ^ 0xff));
      using back = made.downloaded(theirs, 64, 32);
      assertEquals(inC().pixel(back.pointer, c, 5, 3), value(theirs, c, 5, 3) ^ 0xff);
      assertEquals(made.references, 2);
      frame[Symbol.dispose]();
      assertEquals(made.references, 1);
    },
  );
}

testOpenCL("images of ours are a frame of FFmpeg's, which waits for their work", async ({ cl, ffmpeg }) => {
  const r = cl.image({ order: "R", type: "UNORM_INT8" });
  const planes = [[32, 64], [16, 32], [16, 32]].map((shape) => r.allocate({ shape }));
  await using picture = Frame.of<OpenCLImage>(planes, imageInfo({ format: "I420", width: 64, height: 32 }));
  for (const [i, plane] of planes.entries()) cl.queue.write(plane, new Uint8Array(plane.layout.byteLength).fill(9 + i));
  using given = new CFrame(ffmpeg.avFrame(picture));
  using back = given.downloaded("yuv420p", 64, 32);
  assertEquals([inC().pixel(back.pointer, 0, 63, 31), inC().pixel(back.pointer, 2, 1, 1)], [9, 11]);
  const error = assertThrows(() => ffmpeg.attach(given.pointer), ArgumentError);
  assertStringIncludes(error.message, "over a tensor's memory");
});

testOpenCL("side data of FFmpeg's frames is metadata, and side data again", async ({ ffmpeg, device }) => {
  using made = CFrame.hardware(device, "opencl", "gray", 64, 32);
  inC().add_side_data(made.pointer);
  await using frame = ffmpeg.attach(made.pointer);
  assertEquals(frame.metadata.get("contentLight"), { most: 4000000000, average: 400 });
  using given = new CFrame(ffmpeg.avFrame(frame));
  for (const type of [AV_FRAME_DATA_CONTENT_LIGHT_LEVEL, AV_FRAME_DATA_DISPLAYMATRIX]) {
    assertEquals(inC().side_byte(given.pointer, type, 1), inC().side_byte(made.pointer, type, 1));
  }
});

testOpenCL("buffers of ours are not a frame of FFmpeg's", ({ cl, ffmpeg }) => {
  using buffers = Frame.of(
    [cl.allocate({ shape: [32, 64], dtype: "u8" })],
    imageInfo({ format: "GRAY8", width: 64, height: 32 }),
  );
  const error = assertThrows(() => ffmpeg.avFrame(buffers), ArgumentError);
  assertStringIncludes(error.message, "expected planes that are images");
});

testOpenCL("sound is not a hardware frame", ({ cl, ffmpeg }) => {
  const sound = { type: "audio", format: "f32", sampleRate: 8000, channels: 1, samples: 8, layout: "planar" } as const;
  using frame = Frame.of([cl.allocate({ shape: [8], dtype: "f32" })], sound);
  const error = assertThrows(() => ffmpeg.avFrame(frame), ArgumentError);
  assertStringIncludes(error.message, "a hardware frame is an image, and this is sound");
});

testOpenCL("a frame of another cl_context is refused, and taken where ours stands on that", async ({ ffmpeg }) => {
  using other = openOpenCL("pocl");
  await using theirs = FFmpegContext.open({ on: other });
  const device = theirs.avDevice();
  using made = CFrame.hardware(device, "opencl", "gray", 64, 32);
  inC().unreference(device);
  using from = CFrame.picture("gray", 64, 32);
  assertEquals(inC().transfer(made.pointer, from.pointer), 0);
  const error = assertThrows(() => ffmpeg.attach(made.pointer), ArgumentError);
  assertStringIncludes(error.hint!, `FFmpegContext.open({ on: OpenCLContext.attach(${other.handle}n) })`);
  using cl = OpenCLContext.attach(other.handle);
  await using standing = FFmpegContext.open({ on: cl });
  using frame = standing.attach(made.pointer) as Frame<OpenCLImage>;
  const bytes = new Uint8Array(64 * 32);
  cl.queue.read(frame.planes[0], bytes);
  assertEquals(bytes[3 * 64 + 5], value("gray", 0, 5, 3));
  cl.queue.write(frame.planes[0], bytes.fill(7));
  using back = made.downloaded("gray", 64, 32);
  assertEquals(inC().pixel(back.pointer, 0, 5, 3), 7);
});

testOpenCL("a frame goes on to the host, and ends with its context", async ({ cl, ffmpeg, device }) => {
  using graph = new MapperGraph([host, cl]);
  using made = CFrame.hardware(device, "opencl", "gray", 64, 32);
  using from = CFrame.picture("gray", 64, 32);
  inC().transfer(made.pointer, from.pointer);
  const frame = ffmpeg.attach(made.pointer);
  {
    await using shown = graph.map(frame.planes[0], host, { access: "read" });
    assertEquals(shown.view()[5], value("gray", 0, 5, 0));
  }
  void ffmpeg[Symbol.asyncDispose]();
  assertEquals([frame.resource.state, made.references], ["freed", 1]);
});

test("FFmpeg warns of nothing as it opens a device, and its level stays", async () => {
  const text = `
    import { FFmpegContext } from "./src/ffmpeg/mod.ts";
    import { avutil } from "./src/ffmpeg/library.ts";
    import { OpenCLContext } from "./src/opencl/mod.ts";
    using cl = OpenCLContext.open();
    await using ffmpeg = FFmpegContext.open({ on: cl });
    console.log(avutil().fns.av_log_get_level());
  `;
  const { stderr, stdout } = await runModule(text);
  assertEquals([stderr, stdout], ["", `${AV_LOG_INFO}\n`]);
}, lacking);
