/** Every native call that a pipeline makes fails once: it ends, typed, and no frame, fd, file or handle is left. */
import { assert } from "@std/assert";
import { host, type HostTensor } from "../../mod.ts";
import { FrameRing } from "../../src/channel/mod.ts";
import { FFmpegContext } from "../../src/ffmpeg/mod.ts";
import { GStreamerContext } from "../../src/gstreamer/mod.ts";
import { OpenCLContext, openclDevices } from "../../src/opencl/mod.ts";
import {
  convert,
  copy,
  crop,
  decode,
  encode,
  fromGStreamer,
  fromRing,
  infer,
  jsonLines,
  kernel,
  outline,
  pipeline,
  Sink,
  tee,
  toGStreamer,
  toRing,
  writeImages,
} from "../../src/pipeline/mod.ts";
import { PROBES } from "../conformance/opencv_variants.ts";
import { clip, missing } from "../ffmpeg/clips.ts";
import { Level, openFds } from "../gc.ts";
import { lacking as lackingGStreamer } from "../gstreamer/lacking.ts";
import { unary } from "../inference/onnx.ts";
import { LIBRARY, openOnnxRuntime } from "../onnxruntime/open.ts";
import { numbered } from "../pipeline/help.ts";
import { SILENT } from "./gstreamer_failures.ts";
import { assertPairs, installPairs } from "./pairs.ts";
import { sweep } from "./sweep.ts";
import { Warned } from "./warned.ts";

installPairs();

/** Ends of waits for an fd: see channel_test.ts. */
const RUNG = ["libc.write", "libc.read", "libc.epoll_ctl"];

const FRAMES = 3;

function test(name: string, lacks: string | undefined, operation: (folder: string) => Promise<unknown>): void {
  Deno.test({
    name: `faults: pipeline: ${name}${lacks === undefined ? "" : ` (skipped: needs ${lacks})`}`,
    ignore: lacks !== undefined,
    async fn() {
      const folder = Deno.makeTempDirSync();
      await operation(folder); // what libraries keep from now on
      const fds = new Level(openFds);
      const faults = await sweep(() => operation(folder), async (failed) => {
        await fds.assertBack("open fds");
        assertPairs();
        const left = Array.from(Deno.readDirSync(folder), ({ name }) => name).filter((name) =>
          !/^(out|\d)\.mkv$/.test(name)
        );
        // Where it is unknown whose file it is, it stays.
        assert(left.length === 0 || failed === "libc.statx", `${left} after ${failed}`);
        for (const name of left) Deno.removeSync(`${folder}/${name}`);
      }, [...PROBES, ...RUNG, ...SILENT, "opencl.clGetDeviceInfo"]);
      assert(faults.length > 50, `${faults.length} native calls`);
      Deno.removeSync(folder, { recursive: true });
    },
  });
}

const COPY = `kernel void copied(global const uchar *from, int stride, global uchar *to, int toStride) {
  to[get_global_id(1) * toStride + get_global_id(0)] = from[get_global_id(1) * stride + get_global_id(0)];
}`;

/** y = sigmoid(x), of two frames. */
const MODEL = unary("Sigmoid", "f32", [2, 4]);

const SMALL = "video/x-raw,format=GRAY8,width=16,height=8";

const seen = new Sink<HostTensor>({
  name: "seen",
  takes: { memory: host },
  write: ({ planes: [plane] }) => void plane.bytes({ access: "read" }),
});

const POCL = { platform: "Portable Computing Language" };

function lackingPocl(): string | undefined {
  try {
    return openclDevices().some(({ platform }) => platform === POCL.platform) ? undefined : "PoCL";
  } catch {
    return "libOpenCL.so.1";
  }
}

function lackingModel(): string | undefined {
  return missing ?? lackingPocl() ?? (LIBRARY === undefined ? "deno task setup inference" : undefined);
}

test("a file through a kernel into a file, and beside it to the host", missing ?? lackingPocl(), async (folder) => {
  const path = await clip("short.mkv"); // each frame is wanted: no failure concerns what was only read ahead
  using ffmpeg = FFmpegContext.open();
  using cl = OpenCLContext.open(POCL);
  using program = cl.program(COPY);
  using copied = program.kernel("copied");
  const stages = [kernel(copied, { gives: (info) => info }), outline()];
  const file = encode(ffmpeg, `${folder}/out.mkv`, { codec: "mpeg4", threads: 1 });
  const part = crop({ x: 0, y: 0, width: 32, height: 16 });
  await pipeline(decode(ffmpeg, path, { threads: 1 }), ...stages, tee([file], [part, seen])).run();
});

test("a model over what was converted, into lines of JSON and pictures", lackingModel(), async (folder) => {
  using ffmpeg = FFmpegContext.open();
  using cl = OpenCLContext.open(POCL);
  using ort = openOnnxRuntime();
  using session = ort.compileSync(MODEL, { threads: 1 });
  const looks = infer(session, {
    batch: 2,
    prepare: ({ planes: [plane] }, { x }) => (x.view() as Float32Array).set(plane.bytes({ access: "read" })),
    results: ({ y }, { metadata }) =>
      void metadata.add("classification", { confidence: Number(y.view({ access: "read" })[0]) }),
  });
  const grey = convert(cl, { format: "GRAY8", width: 4, height: 1 });
  const lines = jsonLines(new WritableStream({ write: () => {} }));
  const pictures = writeImages(ffmpeg, `${folder}/%d.mkv`, { codec: "ffv1" });
  await pipeline(numbered(FRAMES, "RGB"), grey, looks, tee([lines], [pictures])).run();
});

test("GStreamer's elements, before it and behind it", lackingGStreamer(), async () => {
  using gst = GStreamerContext.openSync();
  await using from = gst.launch(`videotestsrc num-buffers=${FRAMES} ! ${SMALL} ! appsink name=out sync=false`);
  await using to = gst.launch(`appsrc name=in ! ${SMALL} ! fakesink`);
  await pipeline(fromGStreamer(from, "out"), copy(), toGStreamer(to, "in")).run();
});

test("two halves of one, and a ring between them", undefined, async (folder) => {
  const path = `${folder}/ring`;
  using warned = new Warned("pipeline"); // who is turned away never joins, and that is warned of
  const { signal } = warned;
  const ends = await Promise.allSettled([
    pipeline(numbered(FRAMES), copy(), toRing(FrameRing, path, { join: true }), { signal }),
    pipeline(fromRing(FrameRing, path, { wait: true }), seen, { signal }),
  ].map((half) => half.run().catch((error) => warned.end(error))));
  const failed = ends.find(({ status }) => status === "rejected") as PromiseRejectedResult | undefined;
  if (failed !== undefined) throw failed.reason;
});
