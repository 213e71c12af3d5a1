// A clip of H.264 in 1080p through FFmpeg's decoder, a Gaussian of OpenCL's, and libx264 into a file. One operation is the
// whole clip.

import { type Frame, host, imageInfo, MapperGraph } from "@samepage/interop";
import { FFmpegContext, type FFmpegTensor } from "@samepage/interop/ffmpeg";
import type { OpenCLKernel, OpenCLTensor } from "@samepage/interop/opencl";
import { missing } from "../tests/ffmpeg/clips.ts";
import { BUILT, c } from "./harness/c.ts";
import { beginningOf, framesOf } from "./harness/clip.ts";
import { device } from "./harness/device.ts";
import { figure } from "./harness/figure.ts";
import { throughput } from "./harness/goal.ts";
import { Missing } from "./harness/program.ts";
import { here, moving, program, PYTHON, side, type Way } from "./harness/way.ts";
import { hasNpm, NODE_AV } from "../tasks/setup/npm.ts";
import { FFMPEG_8, hasWheels } from "../tasks/setup/wheels.ts";

const [WIDTH, HEIGHT] = [1920, 1080];
/** The clip has 50; fewer are enough to see that the figure runs. */
const FRAMES = framesOf(50);
const OUT = `${BUILT}clip.mkv`;

/** What those copy who share no memory: each frame of I420, once to OpenCL or NumPy and once back. */
const COPIED = FRAMES * 2 * WIDTH * HEIGHT * 3 / 2;

const [pyAv, nodeAv] = await Promise.all([hasWheels(FFMPEG_8), hasNpm(NODE_AV)]);

function pythons(): Way {
  return program("PyAV + NumPy + pyopencl", () => {
    if (!pyAv) throw new Missing("there is no PyAV: deno task setup test");
    const { platform, name } = device().cl.device;
    const files = [side("kernels.cl"), Deno.env.get("SAMEPAGE_BENCH_CLIP")!, `${BUILT}clip_python.mkv`];
    return { path: PYTHON, args: [side("sides/pyav_side.py"), FFMPEG_8.folder, platform, name, ...files] };
  }, "clip");
}

function nodes(): Way {
  return program("node-av in Deno", () => {
    if (!nodeAv) throw new Missing("there is no node-av: deno task setup test");
    const files = [Deno.env.get("SAMEPAGE_BENCH_CLIP")!, `${BUILT}clip_node.mkv`];
    return { path: Deno.execPath(), args: ["run", "-A", "--no-check", side("sides/node_av_side.ts"), ...files] };
  }, "clip");
}

if (missing === undefined) {
  // The C program reads them.
  Deno.env.set("SAMEPAGE_BENCH_CLIP", await beginningOf("hd.mp4", FRAMES));
  Deno.env.set("SAMEPAGE_BENCH_OUT", `${BUILT}clip_c.mkv`);
}

function blur(kernel: OpenCLKernel, from: Frame<OpenCLTensor>, to: Frame<OpenCLTensor>): void {
  for (const [i, plane] of from.planes.entries()) {
    const [height, width] = plane.layout.shape;
    const strides = [plane, to.planes[i]].map(({ layout }) => layout.strides[0]);
    kernel.run({ items: [width, height] }, [plane, strides[0], to.planes[i], strides[1], width, height]);
  }
}

figure({
  id: "ffmpeg-clip",
  title: `${FRAMES} frames of 1080p H.264, blurred by OpenCL and encoded`,
  goal: throughput(0.97),
  ignore: missing !== undefined,
  ways: [
    moving(0, c("ffmpeg_clip", "clip")),
    moving(
      0,
      here("samepage", () => {
        if (missing !== undefined) throw new Missing(missing);
        const { cl, kernel: kernelOf } = device();
        const ffmpeg = FFmpegContext.open();
        const graph = new MapperGraph([host, ffmpeg, cl]);
        const kernel = kernelOf("gaussian");
        const blurred = host.allocateFrame(imageInfo({ format: "I420", width: WIDTH, height: HEIGHT }));
        const one = async () => {
          await using decoder = ffmpeg.decode(Deno.env.get("SAMEPAGE_BENCH_CLIP")!);
          const { stream: { frameRate } } = await decoder.info();
          const options = { preset: "ultrafast" };
          await using out = ffmpeg.encode(OUT, { codec: "libx264", frameRate: frameRate!, options });
          let bytes = 0;
          for await (using frame of decoder) {
            {
              await using from = graph.map(frame, cl, { access: "read" }) as Frame<OpenCLTensor>;
              await using to = graph.map(blurred, cl, { access: "write" }) as Frame<OpenCLTensor>;
              blur(kernel, from, to);
              bytes += from.route!.bytesMoved + to.route!.bytesMoved;
            }
            using picture = graph.map(blurred, ffmpeg, { access: "read" }) as Frame<FFmpegTensor>;
            bytes += picture.route!.bytesMoved;
            await out.write(picture);
          }
          await out.close();
          if (bytes > 0) throw new Error(`${bytes} bytes were copied.`);
        };
        return {
          async run(count) {
            for (let i = 0; i < count; i++) await one();
          },
        };
      }),
    ),
    moving(COPIED, pythons()),
    moving(COPIED, nodes()),
  ],
});
