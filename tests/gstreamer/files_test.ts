/** Pipelines that read and write files, beside FFmpeg. */
import { assert, assertEquals } from "@std/assert";
import { type Frame, host, type HostTensor, MapperGraph } from "@samepage/interop";
import { frameInfo } from "../../src/core/layout/frame_info.ts";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { clip, type ClipName, decodedByProgram } from "../ffmpeg/clips.ts";
import { Open, test } from "./open.ts";

/** How far bytes are off on average, at the most: FFmpeg's decoder of Theora rounds otherwise than libtheora. */
const CLIPS = { "h264.mp4": 0, "small.mkv": 0, "theora.ogv": 1 } as const satisfies Partial<Record<ClipName, number>>;

for (const [name, most] of Object.entries(CLIPS) as [ClipName, number][]) {
  test(`decodebin: the pictures of ${name} are those that the ffmpeg program decodes`, async () => {
    using gst = await GStreamerContext.open();
    using graph = new MapperGraph([host, gst]);
    const path = await clip(name);
    await using pipeline = gst.launch(
      `filesrc location=${path} ! decodebin ! video/x-raw ! appsink name=out sync=false`,
    );
    const expected = await decodedByProgram(path, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-map", "0:v");
    let [at, off] = [0, 0];
    for await (using frame of pipeline.sink("out")) {
      assertEquals(frame.info.format, "I420");
      using seen = graph.map(frame, host, { access: "read" }) as Frame<HostTensor>;
      assertEquals(seen.route!.bytesMoved, 0);
      for (const { layout: { shape: [height, width], strides: [stride] }, ...plane } of seen.planes.map(plain)) {
        for (let y = 0; y < height; y++) {
          for (let x = 0; x < width; x++, at++) {
            off += Math.abs(plane.bytes[y * stride + x] - expected[at]);
          }
        }
      }
    }
    assertEquals(at, expected.length);
    assert(off / at <= most, `${off / at} on average`);
  });
}

function plain(plane: HostTensor) {
  return { layout: plane.layout, bytes: plane.bytes({ access: "read" }) };
}

test("x264enc: FFmpeg reads the file that a pipeline writes", async () => {
  using gst = await GStreamerContext.open();
  using ffmpeg = FFmpegContext.open();
  const folder = await Deno.makeTempDir();
  try {
    await using pipeline = gst.launch(
      `videotestsrc num-buffers=50 ! video/x-raw,width=160,height=120,framerate=25/1 !
       x264enc speed-preset=ultrafast ! mp4mux ! filesink location=${folder}/out.mp4`,
    );
    assertEquals(await pipeline.ended(), true);
    await pipeline.stop();
    await using decoder = ffmpeg.decode(`${folder}/out.mp4`);
    const { stream } = await decoder.info();
    assertEquals([stream.codec, stream.width, stream.height], ["h264", 160, 120]);
    let count = 0;
    for await (using _ of decoder) count++;
    assertEquals(count, 50);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

test("audiotestsrc: sound comes as frames, with their times", async () => {
  using gst = await GStreamerContext.open();
  using graph = new MapperGraph([host, gst]);
  await using pipeline = gst.launch(
    `audiotestsrc num-buffers=5 samplesperbuffer=480 wave=square volume=0.5 freq=100 !
     audio/x-raw,format=F32LE,rate=48000,channels=2,layout=interleaved ! appsink name=out sync=false`,
  );
  const times: bigint[] = [];
  for await (using frame of pipeline.sink("out")) {
    const { info } = frame;
    assert(info.type === "audio");
    assertEquals([info.format, info.channels, info.sampleRate, info.samples], ["f32", 2, 48000, 480]);
    times.push(info.media!.pts!);
    using seen = graph.map(frame, host, { access: "read" }) as Frame<HostTensor>;
    const values = seen.planes[0].view({ access: "read" }) as Float32Array;
    assertEquals([...new Set(values)].map(Math.abs), [0.5, 0.5]);
  }
  assertEquals(times, [0n, 10_000_000n, 20_000_000n, 30_000_000n, 40_000_000n]);
});

test("sound with a plane a channel goes into a pipeline, each channel from where it lies", async () => {
  using open = new Open();
  const info = frameInfo({ type: "audio", format: "i16", sampleRate: 8000, channels: 2, samples: 4, layout: "planar" });
  await using pipeline = open.gst.launch(
    "appsrc name=in ! audioconvert ! audio/x-raw,layout=interleaved ! appsink name=out sync=false",
  );
  const writer = pipeline.source("in", info).getWriter();
  using sound = host.allocateFrame(info, { rowAlign: 64 });
  for (const [i, plane] of sound.planes.entries()) {
    (plane.view() as Int16Array).set([1, 2, 3, 4].map((sample) => 10 * (i + 1) + sample));
  }
  {
    await using mapped = open.graph.map(sound, open.gst, { access: "read" }) as Frame;
    await writer.write(mapped);
    await writer.close();
  }
  const heard: number[] = [];
  for await (using frame of pipeline.sink("out")) {
    using seen = open.map(frame);
    heard.push(...seen.planes[0].view() as Int16Array);
  }
  assertEquals(heard, [11, 21, 12, 22, 13, 23, 14, 24]);
});
