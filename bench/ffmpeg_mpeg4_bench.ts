// FFmpeg's mpeg4 reads a picture again and again, and keeps it: does it take longer over memory that is not FFmpeg's own?
// Both ways encode the same pixels. One operation is a picture.

import { type Frame, host, imageInfo, MapperGraph } from "@samepage/interop";
import { type DecodeOptions, FFmpegContext, type FFmpegTensor } from "@samepage/interop/ffmpeg";
import { clip, missing } from "../tests/ffmpeg/clips.ts";
import { BUILT } from "./harness/c.ts";
import { framesOf } from "./harness/clip.ts";
import { figure } from "./harness/figure.ts";
import { throughput } from "./harness/goal.ts";
import type { Operation } from "./harness/operation.ts";
import { Missing } from "./harness/program.ts";
import { here } from "./harness/way.ts";

/** Pictures of the clip that are encoded by turns. */
const PICTURES = framesOf(12);

const INFO = imageInfo({ format: "I420", width: 1920, height: 1080 });

async function decoded(ffmpeg: FFmpegContext, options: DecodeOptions): Promise<Frame<FFmpegTensor>[]> {
  const graph = new MapperGraph([host, ffmpeg]);
  const frames: Frame<FFmpegTensor>[] = [];
  for await (const frame of ffmpeg.decode(await clip("hd.mp4"), { ...options, threads: 1 })) {
    const ours = frame.target === ffmpeg ? frame : graph.map(frame, ffmpeg, { access: "read" });
    if (frames.push(ours as Frame<FFmpegTensor>) === PICTURES) break;
  }
  return frames;
}

function encoding(name: string, options: DecodeOptions): Operation {
  if (missing !== undefined) throw new Missing(missing);
  const ffmpeg = FFmpegContext.open();
  const frames = decoded(ffmpeg, options);
  return {
    async run(count) {
      const all = await frames;
      await using out = ffmpeg.encode(`${BUILT}${name}.mkv`, { codec: "mpeg4", threads: 1, frameRate: 25 });
      for (let i = 0; i < count; i++) {
        const frame = all[i % all.length];
        using next = frame.borrow("read", INFO); // without its time: it comes after the one before
        await out.write(next);
      }
    },
  };
}

figure({
  id: "ffmpeg-mpeg4",
  title: "a picture of 1080p through FFmpeg's mpeg4",
  goal: throughput(0.97),
  ignore: missing !== undefined,
  ways: [
    here("in memory of FFmpeg's", () => encoding("mpeg4_own", {})),
    here("in memory of samepage's", () => encoding("mpeg4_ours", { into: host })),
  ],
});
