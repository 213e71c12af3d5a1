/** Pipelines beside other APIs: FFmpeg's decoder into an encoder of GStreamer's, sound beside pictures, kernels. */
import { assertEquals, assertThrows } from "@std/assert";
import { AccessError, type AudioInfo, type Frame, host, imageInfo, MapperGraph } from "@samepage/interop";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { OpenCLContext, type OpenCLTensor } from "@samepage/interop/opencl";
import { clip } from "../ffmpeg/clips.ts";
import { HERE } from "../opencl/help.ts";
import { test } from "./open.ts";

const noPoCL = HERE.includes("pocl") ? undefined : "PoCL";

test("FFmpeg's frames go into GStreamer's encoder, and FFmpeg decodes what it writes", async () => {
  using gst = await GStreamerContext.open();
  using ffmpeg = FFmpegContext.open();
  using graph = new MapperGraph([host, gst, ffmpeg]);
  const folder = await Deno.makeTempDir();
  try {
    await using decoder = ffmpeg.decode(await clip("h264.mp4"));
    await using pipeline = gst.launch(
      `appsrc name=in ! x264enc speed-preset=ultrafast ! matroskamux ! filesink location=${folder}/out.mkv`,
    );
    let writer: WritableStreamDefaultWriter<Frame> | undefined;
    for await (using frame of decoder) {
      writer ??= pipeline.source("in", frame.info).getWriter();
      using mapped = graph.map(frame, gst, { access: "read" }) as Frame;
      assertEquals(mapped.route!.bytesMoved, 0);
      await writer.write(mapped);
    }
    await writer!.close();
    await pipeline.ended();
    await pipeline.stop();
    const times: number[] = [];
    for await (using read of ffmpeg.decode(`${folder}/out.mkv`)) times.push(Number(read.info.media!.pts!));
    assertEquals(times, Array.from({ length: 50 }, (_, i) => 40 * i));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

test("two sources are written side by side: pictures and sound of one file", async () => {
  using gst = await GStreamerContext.open();
  using ffmpeg = FFmpegContext.open();
  using graph = new MapperGraph([host, gst]);
  const folder = await Deno.makeTempDir();
  try {
    await using pipeline = gst.launch(
      `matroskamux name=mux ! filesink location=${folder}/out.mkv
       appsrc name=pictures ! x264enc speed-preset=ultrafast tune=zerolatency ! mux.
       appsrc name=sound ! audioconvert ! mux.`,
    );
    const picture = { ...imageInfo({ format: "I420", width: 64, height: 48 }), media: { frameRate: [10, 1] as const } };
    const sound: AudioInfo = {
      ...{ type: "audio", format: "f32", sampleRate: 8000, channels: 1, samples: 800, layout: "interleaved" },
    };
    const write = async (name: string, info: typeof picture | AudioInfo) => {
      const writer = pipeline.source(name, info).getWriter();
      await Promise.resolve(); // the other source is made before the first write
      for (let i = 0; i < 20; i++) {
        using frame = host.allocateFrame(info, info.type === "image" ? { rowAlign: 64 } : {});
        using mapped = graph.map(frame, gst, { access: "read" }) as Frame;
        await writer.write(mapped);
      }
      await writer.close();
    };
    await Promise.all([write("pictures", picture), write("sound", sound)]);
    await pipeline.ended();
    await pipeline.stop();
    const counts = { video: 0, audio: 0 };
    for (const stream of ["video", "audio"] as const) {
      for await (using frame of ffmpeg.decode(`${folder}/out.mkv`, { stream })) {
        counts[stream] += frame.info.type === "audio" ? frame.info.samples : 1;
      }
    }
    assertEquals(counts, { video: 20, audio: 16000 });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

test(
  "a kernel cannot write a frame that a queue holds, until GStreamer has let go",
  async () => {
    using gst = await GStreamerContext.open();
    using cl = OpenCLContext.open();
    using graph = new MapperGraph([host, gst, cl]);
    using program = cl.program("kernel void fill(global uchar *to) { to[get_global_id(0)] = 7; }");
    using fill = program.kernel("fill");
    const info = imageInfo({ format: "GRAY8", width: 64, height: 64 });
    using picture = host.allocateFrame(info);
    await using pipeline = gst.launch("appsrc name=in ! queue ! appsink sync=false");
    const writer = pipeline.source("in", info).getWriter();
    const mapped = graph.map(picture, gst, { access: "read" }) as Frame;
    await writer.write(mapped);
    const ended = mapped[Symbol.asyncDispose]();
    {
      using seen = graph.map(picture, cl, { access: "read" }); // who only reads is not in the way
      assertEquals(seen.route!.bytesMoved, 0);
    }
    assertThrows(() => graph.map(picture, cl, { access: "write" }), AccessError);
    await pipeline.stop();
    await ended;
    {
      using onDevice = graph.map(picture, cl, { access: "write" }) as Frame<OpenCLTensor>;
      fill.run({ items: [64 * 64] }, [onDevice.planes[0]]);
    }
    assertEquals(picture.planes[0].view()[4095], 7);
  },
  {},
  noPoCL,
);

test(
  "frames out of a pipeline are a kernel's, in place, while it reaches its end",
  async () => {
    using gst = await GStreamerContext.open();
    using cl = OpenCLContext.open();
    using graph = new MapperGraph([host, gst, cl]);
    using program = cl.program(`
    kernel void sum(global const uchar *from, global uint *to) { atomic_add(to, from[get_global_id(0)]); }`);
    using sum = program.kernel("sum");
    using total = host.allocate({ shape: [1], dtype: "u32" });
    await using pipeline = gst.launch(
      "videotestsrc num-buffers=10 pattern=white ! video/x-raw,format=GRAY8,width=64,height=64 ! appsink name=out sync=false",
    );
    const maps: AsyncDisposable[] = [];
    {
      await using to = graph.map(total, cl);
      for await (const frame of pipeline.sink("out")) {
        const from = graph.map(frame, cl, { access: "read" }) as Frame<OpenCLTensor>;
        assertEquals(from.route!.bytesMoved, 0);
        sum.run({ items: [64 * 64] }, [from.planes[0], to]);
        maps.push(from, frame);
      }
      await pipeline.stop();
      for (const each of maps) await each[Symbol.asyncDispose]();
    }
    assertEquals(total.view()[0], 10 * 64 * 64 * 235);
  },
  {},
  noPoCL,
);
