/**
 * A clip through npm's node-av: decoded, copied to OpenCL's buffers, blurred, copied back and encoded, as a program does
 * that shares no memory. `node_av_side.ts CLIP OUT`.
 *
 * @module
 */
import type { OpenCLTensor } from "@samepage/interop/opencl";
import type * as NodeAv from "../../tests/ffmpeg/node_av.ts";
import { NODE_AV, npmUrl } from "../../tasks/setup/npm.ts";
import { device } from "../harness/device.ts";
import { serve } from "../harness/serve.ts";

/** What this uses of it besides the guide's recipe. */
interface MadeFrame extends NodeAv.DecodedFrame {
  format: number;
  width: number;
  height: number;
  alloc(): void;
  getBuffer(): number;
  copyProps(of: NodeAv.DecodedFrame): number;
}

interface Encoder extends AsyncDisposable {
  packets(frames: AsyncIterable<MadeFrame | null>): AsyncIterable<unknown>;
}

interface Muxer extends AsyncDisposable {
  addStream(encoder: Encoder): number;
  writePacket(packet: unknown, stream: number): Promise<void>;
}

const [clip, out] = Deno.args;
const load = (module: string) => import(npmUrl(NODE_AV, `node-av/dist/${module}`).href);
const { Demuxer }: typeof NodeAv = await load("api/demuxer.js");
const { Decoder }: typeof NodeAv = await load("api/decoder.js");
const { Encoder } = await load("api/encoder.js") as {
  Encoder: { create(codec: string, options: object): Promise<Encoder> };
};
const { Muxer } = await load("api/muxer.js") as { Muxer: { open(path: string): Promise<Muxer> } };
const { Log } = await load("lib/log.js") as { Log: { setLevel(level: number): void } };
const { Frame } = await load("lib/frame.js") as { Frame: new () => MadeFrame };

Log.setLevel(-8); // AV_LOG_QUIET

const { cl, kernel: kernelOf } = device();
const kernel = kernelOf("gaussian");

/** Buffers of the device, from and to, for each plane. They are used for all frames. */
let buffers: readonly (readonly [OpenCLTensor, OpenCLTensor])[] | undefined;

function blurred(frame: NodeAv.DecodedFrame): MadeFrame {
  const { width, height } = frame;
  const made = new Frame();
  made.alloc();
  [made.format, made.width, made.height] = [0, width, height]; // AV_PIX_FMT_YUV420P
  made.getBuffer();
  made.copyProps(frame);
  buffers ??= [0, 1, 2].map((i) => {
    const allocated = (of: NodeAv.DecodedFrame) => cl.allocate({ shape: [of.data![i].length], dtype: "u8" });
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

async function one(): Promise<void> {
  await using input = await Demuxer.open(clip);
  const stream = input.video()!;
  using decoder = await Decoder.create(stream);
  await using target = await Muxer.open(out);
  await using encoder = await Encoder.create("libx264", { options: { preset: "ultrafast", crf: 23 } });
  const index = target.addStream(encoder);
  let frames = 0;
  async function* pictures() {
    for await (using frame of decoder.frames(input.packets(stream.index))) {
      if (frame === null) continue;
      frames++;
      using picture = blurred(frame);
      yield picture;
    }
    yield null;
  }
  for await (const packet of encoder.packets(pictures())) await target.writePacket(packet, index);
  if (frames === 0) throw new Error("the clip has no frames");
}

await serve({
  clip: () => ({
    async run(count) {
      for (let i = 0; i < count; i++) await one();
    },
  }),
});
