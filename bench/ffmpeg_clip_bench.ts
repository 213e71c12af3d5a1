// A clip of H.264 in 1080p through FFmpeg's decoder, a Gaussian of OpenCL's, and libx264 into a file. One operation is the
// whole clip.

import { type Frame, host, imageInfo, MapperGraph } from "@samepage/interop";
import { FFmpegContext, type FFmpegTensor } from "@samepage/interop/ffmpeg";
import type { OpenCLKernel, OpenCLTensor } from "@samepage/interop/opencl";
import { clip, missing } from "../tests/ffmpeg/clips.ts";
import { BUILT, c } from "./harness/c.ts";
import { device } from "./harness/device.ts";
import { figure } from "./harness/figure.ts";
import { throughput } from "./harness/goal.ts";
import { Missing } from "./harness/program.ts";
import { here } from "./harness/way.ts";

const [WIDTH, HEIGHT] = [1920, 1080];
const OUT = `${BUILT}clip.mkv`;

if (missing === undefined) {
  // The C program reads them.
  Deno.env.set("SAMEPAGE_BENCH_CLIP", await clip("hd.mp4"));
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
  title: "50 frames of 1080p H.264, blurred by OpenCL and encoded",
  goal: throughput(0.97),
  ignore: missing !== undefined,
  ways: [
    c("ffmpeg_clip", "clip"),
    here("samepage", () => {
      if (missing !== undefined) throw new Missing(missing);
      const { cl, kernel: kernelOf } = device();
      const ffmpeg = FFmpegContext.open();
      const graph = new MapperGraph([host, ffmpeg, cl]);
      const kernel = kernelOf("gaussian");
      const blurred = host.allocateFrame(imageInfo({ format: "I420", width: WIDTH, height: HEIGHT }));
      const one = async () => {
        await using decoder = ffmpeg.decode(await clip("hd.mp4"));
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
  ],
});
