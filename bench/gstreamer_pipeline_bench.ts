// Pictures of 1080p NV12 out of one pipeline, inverted by an OpenCL kernel, and into another. One operation is all frames:
// SAMEPAGE_BENCH_FRAMES of them, 300 unless set. An appsink keeps a reference to what it hands out, so GStreamer lets it be
// read only: the kernel reads it where it lies, and writes into memory of the program's, which the other pipeline reads.

import { type Frame, host, type HostTensor, imageInfo, MapperGraph } from "@samepage/interop";
import { GStreamerContext } from "@samepage/interop/gstreamer";
import type { OpenCLTensor } from "@samepage/interop/opencl";
import { lacking } from "../tests/gstreamer/lacking.ts";
import { c } from "./harness/c.ts";
import { framesOf } from "./harness/clip.ts";
import { device } from "./harness/device.ts";
import { figure } from "./harness/figure.ts";
import { throughput } from "./harness/goal.ts";
import { Missing } from "./harness/program.ts";
import { here, moving, program, PYTHON, side, type Way } from "./harness/way.ts";

const INFO = { ...imageInfo({ format: "NV12", width: 1920, height: 1080 }), media: { frameRate: [30, 1] as const } };
/** Pictures that the other pipeline may have at a time: in its queue, on the way, and one that it is through with. */
const SLOTS = 8;
const FRAMES = framesOf(300);
const BYTES = 1920 * 1080 * 3 / 2;

/** Python copies a picture out of GStreamer, into an array that can be written, out of that, and into GStreamer. */
const COPIES = 4;

const CAPS = "video/x-raw,format=NV12,width=1920,height=1080";
const from = (frames: number | string) =>
  `videotestsrc num-buffers=${frames} ! ${CAPS} ! appsink name=out max-buffers=4 sync=false`;
const TO = "appsrc name=in max-buffers=4 ! fakesink sync=false enable-last-sample=false";

interface Slot {
  readonly picture: Frame<HostTensor>;
  /** The other pipeline is through with it. */
  free: Promise<void>;
}

const missing = lacking();

// The C program and Python's read them.
Deno.env.set("SAMEPAGE_BENCH_FRAMES", String(FRAMES));
Deno.env.set("SAMEPAGE_BENCH_FROM", from("%ld"));
Deno.env.set("SAMEPAGE_BENCH_TO", TO);

function pythons(): Way {
  return program("Python: gi, NumPy, pyopencl", () => {
    const { platform, name } = device().cl.device;
    return { path: PYTHON, args: [side("sides/gstreamer_side.py"), platform, name, side("kernels.cl")] };
  }, "frames");
}

figure({
  id: "gstreamer-pipeline",
  title: `${FRAMES} frames of 1080p NV12, inverted by OpenCL between two pipelines`,
  goal: throughput(0.95),
  ignore: missing !== undefined,
  ways: [
    moving(0, c("gstreamer", "frames")),
    moving(
      0,
      here("samepage", () => {
        if (missing !== undefined) throw new Missing(missing);
        const { cl, kernel: kernelOf } = device();
        const gst = GStreamerContext.openSync();
        const graph = new MapperGraph([host, gst, cl]);
        const invert = kernelOf("invert_to");
        const slots = Array.from({ length: SLOTS }, (): Slot => {
          return { picture: host.allocateFrame(INFO), free: Promise.resolve() };
        });
        const one = async () => {
          await using source = gst.launch(from(FRAMES));
          await using target = gst.launch(TO);
          const writer = target.source("in", INFO).getWriter();
          let [frames, bytes] = [0, 0];
          for await (using frame of source.sink("out")) {
            const slot = slots[frames++ % SLOTS];
            await slot.free;
            {
              await using pixels = graph.map(frame, cl, { access: "read" }) as Frame<OpenCLTensor>;
              await using to = graph.map(slot.picture, cl, { access: "write" }) as Frame<OpenCLTensor>;
              for (const [i, plane] of pixels.planes.entries()) {
                invert.run({ items: [plane.byteLength / 4] }, [plane, to.planes[i]]);
              }
              bytes += pixels.route!.bytesMoved + to.route!.bytesMoved;
            }
            const picture = graph.map(slot.picture, gst, { access: "read" }) as Frame;
            bytes += picture.route!.bytesMoved;
            await writer.write(picture);
            slot.free = picture[Symbol.asyncDispose]();
          }
          await writer.close();
          await target.ended();
          await Promise.all(slots.map(({ free }) => free));
          if (frames !== FRAMES) throw new Error(`${frames} frames came, and not ${FRAMES}.`);
          if (bytes + gst.bytesCopied > 0) throw new Error(`${bytes + gst.bytesCopied} bytes were copied.`);
        };
        return {
          async run(count) {
            for (let i = 0; i < count; i++) await one();
          },
        };
      }),
    ),
    moving(FRAMES * COPIES * BYTES, pythons()),
  ],
});
