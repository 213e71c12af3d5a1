/**
 * A clip through npm's node-av: decoded, worked on, and encoded, as a program does that shares no memory.
 *
 * @module
 */
import type * as NodeAv from "../../tests/ffmpeg/node_av.ts";
import { NODE_AV, npmUrl } from "../../tasks/setup/npm.ts";

/** What this uses of it besides the guide's recipe. */
export interface MadeFrame extends NodeAv.DecodedFrame {
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

/** A new frame of I420, as large as another. */
export function frameLike(frame: NodeAv.DecodedFrame): MadeFrame {
  const made = new Frame();
  made.alloc();
  [made.format, made.width, made.height] = [0, frame.width, frame.height]; // AV_PIX_FMT_YUV420P
  made.getBuffer();
  made.copyProps(frame);
  return made;
}

/** Decodes a clip, works on each frame, and encodes what comes of it. */
export async function clipThrough(
  [clip, out]: readonly string[],
  work: (frame: NodeAv.DecodedFrame) => MadeFrame | Promise<MadeFrame>,
): Promise<void> {
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
      using picture = await work(frame);
      yield picture;
    }
    yield null;
  }
  for await (const packet of encoder.packets(pictures())) await target.writePacket(packet, index);
  if (frames === 0) throw new Error("the clip has no frames");
}
