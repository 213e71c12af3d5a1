/**
 * The pipeline by npm's node-av and onnxruntime-node, with OpenCL's buffers between, as a program of Deno's does that shares
 * no memory. `pipeline_node_side.ts CLIP OUT KERNELS MODEL`.
 *
 * @module
 */
import type { OpenCLTensor } from "@samepage/interop/opencl";
import type { DecodedFrame } from "../../tests/ffmpeg/node_av.ts";
import { device } from "../harness/device.ts";
import { serve } from "../harness/serve.ts";
import { clipThrough, frameLike, type MadeFrame } from "./node_av.ts";
import { loadOnnxRuntimeNode } from "./onnxruntime_node.ts";

const [ACROSS, DOWN, EVERY] = [640, 352, 10];
const LIKELY = 0.3;

const [clip, out, kernels, model] = Deno.args;
const { cl } = device();
const program = cl.program(Deno.readTextFileSync(kernels));
const [edges, prepare] = [program.kernel("edges"), program.kernel("prepare")];
const { InferenceSession, Tensor } = loadOnnxRuntimeNode();
const session = await InferenceSession.create(model, { intraOpNumThreads: 2 });

/** What the model reads: in OpenCL's memory, and in JavaScript's. */
const prepared = cl.allocate({ shape: [3 * DOWN * ACROSS], dtype: "f32" });
const read = new Tensor("float32", new Float32Array(3 * DOWN * ACROSS), [1, 3, DOWN, ACROSS]);

let buffers: readonly (readonly [OpenCLTensor, OpenCLTensor])[] | undefined;
let [frames, found] = [0, 0];

async function worked(frame: DecodedFrame): Promise<MadeFrame> {
  const { width, height } = frame;
  const made = frameLike(frame);
  buffers ??= [0, 1, 2].map((i) => {
    const allocated = (of: DecodedFrame) => cl.allocate({ shape: [of.data![i].length], dtype: "u8" });
    return [allocated(frame), allocated(made)];
  });
  for (const [i, [from, to]] of buffers.entries()) {
    const [across, down] = i === 0 ? [width, height] : [width / 2, height / 2];
    cl.queue.write(from, frame.data![i]);
    edges.run({ items: [across, down] }, [from, frame.linesize[i], to, made.linesize[i], across, down, i]);
    if (i === 0 && frames % EVERY === 0) {
      prepare.run({ items: [ACROSS, DOWN] }, [to, made.linesize[0], prepared, ACROSS, DOWN]);
      cl.queue.read(prepared, read.data);
    }
    cl.queue.read(to, made.data![i]);
  }
  if (frames++ % EVERY > 0) return made;
  const { [session.outputNames[0]]: map } = await session.run({ [session.inputNames[0]]: read });
  for (const [left, top, right, bottom] of boxesIn(map.data)) {
    found++;
    outline(made, [left * width / ACROSS, top * height / DOWN, right * width / ACROSS, bottom * height / DOWN]);
  }
  return made;
}

type Box = readonly [left: number, top: number, right: number, bottom: number];

function outline({ data, linesize: [stride] }: MadeFrame, box: Box): void {
  const [left, top, right, bottom] = box.map(Math.trunc);
  const [luma] = data!;
  for (let y = top; y < bottom; y++) {
    const [from, to] = [y * stride + left, y * stride + right];
    if (y < top + 2 || y >= bottom - 2) luma.fill(255, from, to);
    luma.fill(255, from, from + 2).fill(255, to - 2, to);
  }
}

/** A box around what is connected in a map of probabilities, which is used up. */
function* boxesIn(likely: Float32Array): Generator<Box> {
  for (let start = 0; start < likely.length; start++) {
    if (likely[start] < LIKELY) continue;
    let [left, top, right, bottom, size] = [ACROSS, DOWN, 0, 0, 0];
    const waiting = [start];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (!(likely[at] >= LIKELY)) continue;
      likely[at] = 0;
      const [x, y] = [at % ACROSS, Math.floor(at / ACROSS)];
      [left, top] = [Math.min(left, x), Math.min(top, y)];
      [right, bottom] = [Math.max(right, x + 1), Math.max(bottom, y + 1)];
      size++;
      if (x > 0) waiting.push(at - 1);
      if (x < ACROSS - 1) waiting.push(at + 1);
      waiting.push(at - ACROSS, at + ACROSS);
    }
    if (size >= ACROSS * DOWN / 5000) yield [left, top, right, bottom];
  }
}

await serve({
  pipeline: () => ({
    async run(count) {
      for (let i = 0; i < count; i++) {
        [frames, found] = [0, 0];
        await clipThrough([clip, out], worked);
        if (found === 0) throw new Error("no text was found");
      }
    },
  }),
});
