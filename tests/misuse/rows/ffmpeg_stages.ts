import { type Frame, host, type HostTensor, imageInfo } from "@samepage/interop";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { OnnxRuntimeContext } from "@samepage/interop/onnxruntime";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import { OpenCLContext } from "@samepage/interop/opencl";
import {
  decode,
  encode,
  fromGStreamer,
  images,
  infer,
  kernel,
  operation,
  outline,
  pipeline,
  StageError,
  toGStreamer,
  writeImages,
} from "@samepage/interop/pipeline";
import { any } from "../kit.ts";
import { type Failure, failuresOf, type Row, table } from "../row.ts";

const { wrong } = failuresOf("pipeline");
const stage = (message: RegExp, hint?: RegExp): Failure => ({
  ...{ error: StageError, api: "pipeline", message },
  ...hint && { hint },
});

function row(use: (ffmpeg: FFmpegContext) => unknown, fails: Failure): Row {
  return {
    async run() {
      using ffmpeg = FFmpegContext.open();
      await use(ffmpeg);
    },
    fails,
  };
}

async function* pictures(): AsyncGenerator<Frame<HostTensor>> {
  yield await Promise.resolve(host.allocateFrame(imageInfo({ format: "GRAY8", width: 8, height: 4 })));
}

const PHOTO = "examples/edges/photo.jpg";

export default table(import.meta, {
  "decode() without FFmpeg": {
    run: () => decode(any(host), PHOTO),
    fails: wrong("ffmpeg", /a context of ffmpeg, got a HostContext/, /Open one/),
  },
  "encode() without FFmpeg": {
    run: () => encode(any(undefined), "x.mkv"),
    fails: wrong("ffmpeg", /got undefined/, /Open one/),
  },
  "decode() of a file that is not there": row(
    (ffmpeg) => pipeline(decode(ffmpeg, "/none.mp4")).run(),
    stage(/^decode: /, /./),
  ),
  "decode() with an option that it does not have": row(
    (ffmpeg) => pipeline(decode(ffmpeg, PHOTO, any({ speed: 2 }))).run(),
    stage(/^decode: options: unknown property speed/, /Use stream/),
  ),
  "encode() in a format that FFmpeg does not have": row(
    (ffmpeg) => pipeline(pictures(), encode(ffmpeg, "/tmp/x.nothing")).run(),
    stage(/^encode: /, /./),
  ),
  "images() of one path": row(
    (ffmpeg) => images(ffmpeg, PHOTO as never),
    wrong("files", /a list of files, got a string/, /\[path\]/),
  ),
  "writeImages() without a place for the number": row(
    (ffmpeg) => writeImages(ffmpeg, "out.png"),
    wrong("path", /"out\.png" has no place for a number/, /%04d/),
  ),
  "fromGStreamer() of a context": {
    run: () => fromGStreamer(any(host), "out"),
    fails: wrong("from", /a GStreamer pipeline, got a HostContext/, /gst\.launch/),
  },
  "toGStreamer() of nothing": {
    run: () => toGStreamer(any(undefined), "in"),
    fails: wrong("to", /got undefined/, /gst\.launch/),
  },
  "toGStreamer() of GStreamer's context": {
    run() {
      using gst = GStreamerContext.openSync();
      toGStreamer(any(gst), "in");
    },
    fails: wrong("to", /a GStreamer pipeline, got a GStreamerContext/, /gst\.launch/),
  },
  "fromGStreamer() of an element that is not there": {
    async run() {
      using gst = GStreamerContext.openSync();
      await using elements = gst.launch("videotestsrc num-buffers=1 ! appsink name=out");
      void elements.context;
      await pipeline(fromGStreamer(elements, "none")).run();
    },
    fails: stage(/^none: /, /./),
  },
  "kernel() of a program": {
    opencl: "Portable",
    run() {
      using cl = OpenCLContext.open();
      using program = cl.program("kernel void one(global uchar *x) {}");
      kernel(any(program));
    },
    fails: wrong("of", /a kernel of OpenCL, Vulkan or CUDA, got an OpenCLProgram/),
  },
  "kernel() with arguments that are not a function": {
    opencl: "Portable",
    run() {
      using cl = OpenCLContext.open();
      using program = cl.program("kernel void one(global uchar *x) {}");
      using one = program.kernel("one");
      kernel(one, any({ arguments: [1] }));
    },
    fails: wrong("arguments", /a function, got an Array/),
  },
  "operation() without a function": {
    run: () => operation(host, any("blur")),
    fails: wrong("work", /a function, got a string/),
  },
  "operation() in no memory": {
    run: () => operation(any("cpu"), () => {}),
    fails: wrong("takes.memory", /contexts, or kinds of their memory/, /Pass host/),
  },
  "outline() of frames that can only be read": {
    async run() {
      using frame = host.allocateFrame(imageInfo({ format: "GRAY8", width: 8, height: 4 }));
      await pipeline(
        (async function* () {
          yield await Promise.resolve(frame.borrow("read"));
        })(),
        outline(),
      ).run();
    },
    fails: stage(/^outline: /, /./),
  },
  "infer() of a promise": {
    run: () => infer(any(Promise.resolve()), { prepare() {}, results() {} }),
    fails: wrong("session", /a session, got a Promise/, /once it is there/),
  },
  "infer() of a context": {
    run: () => infer(any(OnnxRuntimeContext), { prepare() {}, results() {} }),
    fails: wrong("session", /a session, got a function/, /compile\(\)/),
  },
  "infer() without results": {
    run: () => infer(any({ runAsync() {} }), any({ prepare() {} })),
    fails: wrong("results", /a function, got undefined/),
  },
  "infer() with a batch of nothing": {
    run: () => infer(any({ runAsync() {} }), { prepare() {}, results() {}, batch: 0 }),
    fails: wrong("batch", /an integer from 1 to 1024, got 0/),
  },
});
