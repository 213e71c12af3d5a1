// 300 frames of 1080p H.264: decoded by FFmpeg, their edges by OpenCL, text found in every tenth of them by ONNX Runtime
// (640 × 352), lines drawn around it, and encoded by libx264. One operation is the whole clip.
//
// GStreamer 1.22 has elements for a part of it: decoders (avdec_h264), edges (edgetv, by the CPU, over 4 bytes a pixel),
// x264enc. It has none that runs an ONNX model (onnxinference, of 1.20 on, is in no package of Debian's) and none that draws
// what that found (objectdetectionoverlay is in 1.24), so that its way has less to do.

import { GStreamerContext } from "@samepage/interop/gstreamer";
import { FFmpegContext } from "@samepage/interop/ffmpeg";
import { OnnxRuntimeContext } from "@samepage/interop/onnxruntime";
import { decode, encode, infer, kernel, outline, pipeline } from "@samepage/interop/pipeline";
import type { OpenCLTensor } from "@samepage/interop/opencl";
import { detectionsIn } from "../src/pipeline/detector.ts";
import { missing } from "../tests/ffmpeg/clips.ts";
import { lacking as lackingGStreamer } from "../tests/gstreamer/lacking.ts";
import { DETECTOR, LIBRARY } from "../tests/onnxruntime/open.ts";
import { BUILT, c } from "./harness/c.ts";
import { beginningOf, framesOf } from "./harness/clip.ts";
import { device } from "./harness/device.ts";
import { figure } from "./harness/figure.ts";
import { throughput } from "./harness/goal.ts";
import { Missing } from "./harness/program.ts";
import { here, moving, program, PYTHON, side, type Way } from "./harness/way.ts";
import { hasNpm, NODE_AV, ONNX_RUNTIME_NODE } from "../tasks/setup/npm.ts";
import { FFMPEG_8, hasWheels, ONNX_RUNTIME } from "../tasks/setup/wheels.ts";

const [WIDTH, HEIGHT] = [1920, 1080];
/** Of the clip's 300: fewer to see that it runs. */
const FRAMES = framesOf(300);
const [ACROSS, DOWN, EVERY] = [640, 352, 10];

/** More frames hide that stages wait for each other: each is 3 MB, and allocated once. */
const AT_A_TIME = 16;

/** What runs on each frame: the example's edges, and the input of the model. */
const [EDGES, PREPARE] = ["../examples/video-edges/edges.cl", "pipeline.cl"].map((file) =>
  Deno.readTextFileSync(side(file))
);
/** Both in one file, for C and Python. */
const KERNELS = `${BUILT}pipeline.cl`;

/** What PyAV copies: each frame of I420 to NumPy, and back. */
const COPIED = FRAMES * 2 * WIDTH * HEIGHT * 3 / 2;

/** What onnxruntime-node copies besides: what the model reads, and its map, of every tenth frame. */
const MODEL_COPIED = Math.ceil(FRAMES / EVERY) * 4 * 4 * ACROSS * DOWN;

/** What videoconvert copies: each frame of I420 to edgetv's BGRx, and what that made of it back to I420. */
const CONVERTED = FRAMES * (4 + 3 / 2) * WIDTH * HEIGHT;

const lacking = missing ?? (LIBRARY === undefined ? "ONNX Runtime: deno task setup inference" : undefined);
const pyAv = await hasWheels(FFMPEG_8);
const lacksNode = await hasNpm(NODE_AV) && await hasNpm(ONNX_RUNTIME_NODE)
  ? undefined
  : "there is no node-av (deno task setup test) or no onnxruntime-node (deno task setup bench)";

if (lacking === undefined) {
  Deno.env.set("SAMEPAGE_BENCH_CLIP", await beginningOf("text.mp4", FRAMES));
  Deno.env.set("SAMEPAGE_BENCH_OUT", `${BUILT}pipeline_c.mkv`);
  Deno.writeTextFileSync(KERNELS, EDGES + PREPARE);
  Deno.env.set("SAMEPAGE_BENCH_KERNELS", KERNELS);
  Deno.env.set("SAMEPAGE_BENCH_ORT", LIBRARY!);
  Deno.env.set("SAMEPAGE_BENCH_MODEL", DETECTOR);
}

function pythons(): Way {
  return program("PyAV + pyopencl + onnxruntime", () => {
    if (!pyAv || lacking !== undefined) throw new Missing(lacking ?? "there is no PyAV: deno task setup test");
    const { platform, name } = device().cl.device;
    const files = [KERNELS, DETECTOR, Deno.env.get("SAMEPAGE_BENCH_CLIP")!, `${BUILT}pipeline_python.mkv`];
    return {
      path: PYTHON,
      args: [side("sides/pipeline_side.py"), FFMPEG_8.folder, ONNX_RUNTIME.folder, platform, name, ...files],
    };
  }, "pipeline");
}

/** GStreamer's elements, as gst-launch-1.0 runs them. */
function elements(): Way {
  const way = c("gstreamer", "elements", "GStreamer: edgetv, no detector, no boxes");
  const description = [
    ...[`filesrc location=${Deno.env.get("SAMEPAGE_BENCH_CLIP")}`, "decodebin", "videoconvert", "edgetv"],
    ...["videoconvert", "video/x-raw,format=I420", "x264enc speed-preset=ultrafast", "matroskamux"],
    `filesink location=${BUILT}pipeline_gstreamer.mkv`,
  ].join(" ! ");
  Deno.env.set("SAMEPAGE_BENCH_ELEMENTS", description);
  return {
    ...way,
    open: async () => {
      const missing = lacking ?? lackingGStreamer();
      if (missing !== undefined) throw new Missing(missing);
      using gst = GStreamerContext.openSync();
      try {
        await using _pipeline = gst.launch(description);
      } catch (error) {
        throw new Missing(`an element is: ${error instanceof Error ? error.message : error}`);
      }
      return await way.open();
    },
  };
}

function nodes(): Way {
  return program("node-av + OpenCL + onnxruntime-node", () => {
    const missing = lacking ?? lacksNode;
    if (missing !== undefined) throw new Missing(missing);
    const files = [Deno.env.get("SAMEPAGE_BENCH_CLIP")!, `${BUILT}pipeline_node.mkv`, KERNELS, DETECTOR];
    return { path: Deno.execPath(), args: ["run", "-A", "--no-check", side("sides/pipeline_node_side.ts"), ...files] };
  }, "pipeline");
}

figure({
  id: "pipeline",
  title: `${FRAMES} frames of 1080p H.264: edges, a detector in every tenth, boxes, encoded`,
  goal: throughput(0.95),
  cpu: true,
  ignore: lacking !== undefined,
  ways: [
    moving(0, c("pipeline", "pipeline")),
    moving(
      0,
      here("samepage", () => {
        if (lacking !== undefined) throw new Missing(lacking);
        const { cl } = device();
        const ffmpeg = FFmpegContext.open();
        const ort = OnnxRuntimeContext.open({ library: LIBRARY! });
        // One thread, as it runs beside the decoder, the kernels and the encoder: two would spin while one of them waits for
        // a core, which took a quarter of all CPU time. C, whose model runs alone, is faster with two.
        const session = ort.compileSync(DETECTOR, { threads: 1 });
        const [[input], [output]] = [session.inputs, session.outputs];
        const program = cl.program(EDGES + PREPARE);
        const [edges, prepare] = [program.kernel("edges"), program.kernel("prepare")];
        const one = async () => {
          let found = 0;
          const figures = await pipeline(
            decode(ffmpeg, Deno.env.get("SAMEPAGE_BENCH_CLIP")!),
            kernel(edges, { gives: (info) => info }),
            infer<OpenCLTensor>(session, {
              memory: cl,
              every: EVERY,
              shapes: () => ({ [input.name]: [1, 3, DOWN, ACROSS] }),
              prepare: ({ planes: [luma] }, { [input.name]: to }) =>
                prepare.run({ items: [ACROSS, DOWN] }, [luma, luma.layout.strides[0], to, ACROSS, DOWN]),
              results({ [output.name]: map }, { metadata }) {
                for (const detection of detectionsIn(map)) {
                  metadata.add("detection", detection);
                  found++;
                }
              },
            }),
            outline(),
            encode(ffmpeg, `${BUILT}pipeline.mkv`, {
              codec: "libx264",
              frameRate: 25,
              options: { preset: "ultrafast" },
            }),
            { frames: AT_A_TIME },
          ).run();
          if (figures.frames !== FRAMES || figures.bytesMoved > 0 || found === 0) {
            throw new Error(`${found}: ${figures}`);
          }
          if (Deno.env.has("SAMEPAGE_BENCH_FIGURES")) console.error(`${figures}`);
        };
        return {
          async run(count) {
            for (let i = 0; i < count; i++) await one();
          },
        };
      }),
    ),
    moving(COPIED, pythons()),
    moving(COPIED + MODEL_COPIED, nodes()),
    moving(CONVERTED, elements()),
  ],
});
