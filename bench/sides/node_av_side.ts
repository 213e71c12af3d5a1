/**
 * A clip through npm's node-av, copied to OpenCL's buffers, blurred and copied back, as a program does that shares no
 * memory. `node_av_side.ts CLIP OUT`.
 *
 * @module
 */
import type { OpenCLTensor } from "@samepage/interop/opencl";
import type { DecodedFrame } from "../../tests/ffmpeg/node_av.ts";
import { device } from "../harness/device.ts";
import { serve } from "../harness/serve.ts";
import { clipThrough, frameLike, type MadeFrame } from "./node_av.ts";

const { cl, kernel: kernelOf } = device();
const kernel = kernelOf("gaussian");

/** Buffers of the device, from and to, for each plane. They are used for all frames. */
let buffers: readonly (readonly [OpenCLTensor, OpenCLTensor])[] | undefined;

function blurred(frame: DecodedFrame): MadeFrame {
  const { width, height } = frame;
  const made = frameLike(frame);
  buffers ??= [0, 1, 2].map((i) => {
    const allocated = (of: DecodedFrame) => cl.allocate({ shape: [of.data![i].length], dtype: "u8" });
    return [allocated(frame), allocated(made)];
  });
  for (const [i, [from, to]] of buffers.entries()) {
    const [across, down] = i === 0 ? [width, height] : [width / 2, height / 2];
    cl.queue.write(from, frame.data![i]);
    const args = [from, frame.linesize[i], to, made.linesize[i], across, down] as const;
    kernel.run({ items: [across, down] }, args);
    cl.queue.read(to, made.data![i]);
  }
  return made;
}

await serve({
  clip: () => ({
    async run(count) {
      for (let i = 0; i < count; i++) await clipThrough(Deno.args, blurred);
    },
  }),
});
